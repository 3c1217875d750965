from kolmogorov import bqp as bqp
from kolmogorov import errors as errors
from kolmogorov import execution as execution
from kolmogorov import interpret as interpret
from kolmogorov import metrics as metrics
from kolmogorov import problems as problems
from kolmogorov import solvers as solvers
from kolmogorov.data import datasets as datasets
from kolmogorov.data.answers import read_answers as read_answers
from kolmogorov.data.observations import Observations as Observations
from kolmogorov.data.ratings import pack as pack
from kolmogorov.data.ratings import read_ratings as read_ratings
from kolmogorov.model.bayesian import BayesianKolmogorovModel as BayesianKolmogorovModel
from kolmogorov.model.imputer import KolmogorovImputer as KolmogorovImputer
from kolmogorov.model.kolmogorov import KolmogorovModel as KolmogorovModel
from kolmogorov.model.lists import ListModel as ListModel
from kolmogorov.model.loading import load as load
from kolmogorov.model.tuning import tune as tune

__version__: str
