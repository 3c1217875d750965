from kolmogorov import errors as errors
from kolmogorov import interpret as interpret
from kolmogorov import solvers as solvers
from kolmogorov.cluster import Dask as Dask
from kolmogorov.data import datasets as datasets
from kolmogorov.data.observations import Observations as Observations
from kolmogorov.data.read import pack as pack
from kolmogorov.data.read import read_answers as read_answers
from kolmogorov.data.read import read_ratings as read_ratings
from kolmogorov.gpu.cuda import Cuda as Cuda
from kolmogorov.interpret.mining import associations as associations
from kolmogorov.models import metrics as metrics
from kolmogorov.models.bayesian import BayesianKolmogorovModel as BayesianKolmogorovModel
from kolmogorov.models.imputer import KolmogorovImputer as KolmogorovImputer
from kolmogorov.models.kolmogorov import KolmogorovModel as KolmogorovModel
from kolmogorov.models.lists import ListModel as ListModel
from kolmogorov.models.loading import load as load
from kolmogorov.models.tuning import tune as tune
from kolmogorov.solvers import bqp as bqp

__version__: str
