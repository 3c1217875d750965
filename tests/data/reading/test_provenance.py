"""Files as people have them: what is understood of each, and what used to be read wrongly without a word."""

import pandas as pd
import polars as pl
import pytest
from tests import naive

from kolmogorov import Observations, pack, read_ratings
from kolmogorov.data.reading.provenance import Provenance
from kolmogorov.errors import DataError, InvariantError, ParameterError

SURVEY = "Name,Age,Smokes,Likes jazz\nann,31,yes,no\nbob,64,no,yes\ncy,25,yes,\n"
GERMAN = "Kunden-Nr;Titel;Bewertung;Datum\n17;Fargo (1996);3,5;01.02.2024\n18;Alien (1979);5;02.02.2024\n"
CLICKS = "session_id,page\ns1,/home\ns1,/home\ns2,/about\n"
EXCEL = "sep=;\nKunde;Produkt;Zufriedenheit\nK1;A;50%\nK2;A;12,5%\nK2;B;100%\n"
CLICKS_IN_TIME = "user,item,timestamp\nann,tea,1700000000\nbob,rum,1700000001\n"


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "file.csv"
        path.write_text(text, encoding=options.get("encoding", "utf-8"))
        return read_ratings(path, **options)

    return read


# --- files as people have them -----------------------------------------------------------------------------------


def test_a_german_export(read):
    found = read(GERMAN)
    assert naive.cells(found) == {(17, "Fargo (1996)"): 0.7, (18, "Alien (1979)"): 1.0}
    about = found.source
    assert about.layout.columns == {"user": "Kunden-Nr", "item": "Titel", "value": "Bewertung"}
    assert (about.layout.ignored, about.layout.separator, about.decimal) == (("Datum",), ";", ",")
    assert about.points == "3.5 to 5 by 0.5"
    assert "decimal comma" in repr(about)
    assert "Not used: Datum" in repr(about)


def test_clicks_in_two_columns(read):
    with pytest.raises(DataError, match="say only_yes=True"):
        read(CLICKS)
    found = read(CLICKS, only_yes=True)
    assert naive.cells(found) == {("s1", "/home"): 1.0, ("s2", "/about"): 1.0}
    assert (found.source.n_records, found.source.n_repeats, found.source.layout.kind) == (3, 1, "only yes")
    assert len(read("1,2\n1,3\n", only_yes=True)) == 2


def test_an_excel_export(read):
    found = read(EXCEL)
    assert naive.cells(found) == {("K1", "A"): 0.5, ("K2", "A"): 0.125, ("K2", "B"): 1.0}
    assert "Words: 100% = 1, 50% = 0.5, 12,5% = 0.125." in repr(found)
    with pytest.raises(DataError, match="line 4: value must be a percentage in every line or in none"):
        read("sep=;\nKunde;Produkt;Note\nK1;A;50%\nK2;A;3\n")
    with pytest.raises(DataError, match="line 4: value must be a percentage in every line or in none"):
        read("sep=;\nKunde;Produkt;Note\nK1;A;3\nK2;A;50%\n")


def as_pandas(text):
    from io import StringIO

    return pd.read_csv(StringIO(text))


def as_polars(text):
    return pl.read_csv(text.encode())


@pytest.mark.parametrize("make", [None, as_pandas, as_polars])
def test_a_survey_with_an_age(make, read):
    def reading(**options):
        return read(SURVEY, **options) if make is None else read_ratings(make(SURVEY), **options)

    with pytest.raises(DataError, match=r"'Age', 'Smokes', 'Likes jazz' all hold values.*say wide=True"):
        reading()
    with pytest.raises(DataError, match="column 'Age' is on another scale .* from 25 to 64. Leave it out with ignore="):
        reading(wide=True)
    found = reading(wide=True, ignore="Age")
    cells = {("ann", "Smokes"): 1.0, ("ann", "Likes jazz"): 0.0, ("bob", "Smokes"): 0.0, ("bob", "Likes jazz"): 1.0}
    assert naive.cells(found) == cells | {("cy", "Smokes"): 1.0}
    assert (found.source.n_missing, found.source.words) == (1, {"yes": 1.0, "no": 0.0})
    assert naive.cells(reading(wide=True, keep=["Smokes", "Likes jazz"])) == naive.cells(found)
    if make is not None:
        assert naive.cells(Observations.from_frame(make(SURVEY), wide=True, ignore=1)) == naive.cells(found)
    # Whoever says what the scale is has looked at it.
    with pytest.raises(DataError, match="at most the maximum 1, got"):
        reading(wide=True, maximum=1)


def test_words_are_those_of_their_column(read):
    found = read("who,tea,rum\nann,yes,true\nbob,no,false\n", wide=True)
    assert sorted(naive.cells(found).values()) == [0.0, 0.0, 1.0, 1.0]
    with pytest.raises(DataError, match="^Column 'town': .* leave the column out with ignore='town'"):
        read("who,tea,town\nann,yes,Rome\nbob,no,Oslo\n", wide=True)


@pytest.mark.parametrize("columns", [["5,1,3", "1,4,"], ["1,1,5", "1,2,5"], ["0,1,5", ",,3"]])
def test_stars_are_on_one_scale(columns, read):
    rows = "\n".join(f"u{k},{row}" for k, row in enumerate(columns))
    assert read(f"who,a,b,c\n{rows}\n", wide=True).scale.maximum == 5


def test_columns_to_leave_out_must_be_there(read):
    with pytest.raises(DataError, match="no column 'age' to ignore; .*'Age'.* Did you mean 'Age'"):
        read(SURVEY, wide=True, ignore="age")
    with pytest.raises(ParameterError, match="'ignore' goes only with a wide table"):
        read(SURVEY, ignore="Age")
    with pytest.raises(ParameterError, match="'only_yes' is for a list of pairs"):
        read(SURVEY, wide=True, only_yes=True)


# --- what used to be read wrongly without a word ------------------------------------------------------------------


def lines(*values):
    return "user,item,rating\n" + "".join(f"u{k},tea,{value}\n" for k, value in enumerate(values))


@pytest.mark.parametrize(("values", "message"), [
    (("1", "0", "-"), "line 4: value must be a number, got '-'. If that means missing, say so with missing='-'"),
    (("-", "1", "0"), "line 3: value is '-' beside '1'. If that means missing, say so with missing='-'"),
    (("+", "-", "0"), "line 4: value must be a number, got '0'; .*'0': NUMBER"),
    (("0", "+", "-"), "line 3: value must be a number, got '[+]'"),
    (("900", "1.000"), "is '1.000' in one place and '900' in another.* decimal='.' or thousands='.'"),
    (("1.000", "2.000", "900"), "is '1.000' in one place and '900' in another"),
])  # fmt: skip
def test_values_that_may_mean_two_things(values, message, read):
    with pytest.raises(DataError, match=message):
        read(lines(*values))


def test_a_point_that_is_told(read):
    assert read(lines("900", "1.000"), thousands=".").scale.maximum == 1000
    assert read(lines("900", "1.000"), decimal=".").scale.maximum == 900
    assert read(lines("1.125", "2.250", "5")).scale.maximum == 5


def test_a_first_record_is_no_header(read):
    found = read("ann,tea,yes\nbob,tea,1\ncy,tea,0\n")
    assert naive.cells(found) == {("ann", "tea"): 1.0, ("bob", "tea"): 1.0, ("cy", "tea"): 0.0}
    with pytest.raises(DataError, match="header or a rating.*Say header=True or header=False"):
        read("ann,tea,like\nbob,tea,1\n")
    assert len(read("who,what,like\nbob,tea,1\n", header=True)) == 1
    assert len(read("a,b,y\n1,2,1\n")) == 1


def test_times_are_no_ratings(read):
    with pytest.raises(DataError, match="which column is the value.*say only_yes=True"):
        read(CLICKS_IN_TIME)
    with pytest.raises(DataError, match="which column is the value.*say only_yes=True"):
        read_ratings(as_pandas(CLICKS_IN_TIME))
    for found in (read(CLICKS_IN_TIME, only_yes=True), read_ratings(as_polars(CLICKS_IN_TIME), only_yes=True)):
        assert naive.cells(found) == {("ann", "tea"): 1.0, ("bob", "rum"): 1.0}
        assert found.source.layout.ignored == ()
        assert found.times.tolist() == [1700000000, 1700000001]
    assert read(CLICKS_IN_TIME, value="timestamp", scaling="minmax").scale.minimum == 1700000000


def test_two_columns_of_one_name(read):
    text = "user,item,rating,rating\nann,tea,5,1\nbob,tea,1,5\n"
    for options in ({}, {"value": "rating"}):
        with pytest.raises(DataError, match="columns 2 and 3 are both called 'rating'.*value=2"):
            read(text, **options)
    assert naive.cells(read(text, value=3)) == {("ann", "tea"): 0.2, ("bob", "tea"): 1.0}


def test_na_is_no_id_among_numbers(read):
    text = "user,item,rating\n1,7,5\nNA,7,3\n2,8,4\n"
    with pytest.raises(DataError, match="The user is 'NA' in some lines and a number in all others.*missing='NA'"):
        read(text)
    found = read(text, missing="NA")
    assert (found.users.ids.tolist(), found.source.n_missing) == ([1, 2], 1)
    # A country may be called so, and a number that means missing may be somebody's id.
    assert read("user,item,rating\nDE,7,5\nNA,7,3\n").users.ids.tolist() == ["DE", "NA"]
    assert read("user,item,rating\n99,7,5\n1,7,99\n1,8,2\n", missing=99).users.ids.tolist() == [1, 99]


def test_a_column_of_text_is_not_the_ratings(read):
    with pytest.raises(DataError, match="'name' was taken for the ratings, and holds text. Numbers are in: 'plays'"):
        read("who,song,name,plays\nann,7,Help,3\nbob,8,Yesterday,2\n")


TITLED = "userId,movieId,rating,title,timestamp\n1,10,4,Alien,7\n1,20,5,Heat,8\n2,10,3,Alien,9\n2,30,1,,9\n"


def as_parquet(folder):
    path = folder / "titled.parquet"
    as_pandas(TITLED).to_parquet(path)
    return path


@pytest.mark.parametrize("make", [None, as_pandas, as_polars, as_parquet])
def test_titles_beside_ids_are_used(make, read, tmp_path):
    given = None if make is None else make(tmp_path) if make is as_parquet else make(TITLED)
    found = read(TITLED) if make is None else read_ratings(given)
    assert found.items.ids.tolist() == [10, 20, 30]
    assert found.items.labels.tolist() == ["Alien", "Heat", "30"]
    assert found.source.layout.columns["title"] == "title"
    assert "time = timestamp, title = title." in repr(found)
    # Titles that are given go before those that were found.
    other = read_ratings(tmp_path / "file.csv" if make is None else given, titles={10: "Alien (1979)"})
    assert other.items.labels.tolist() == ["Alien (1979)", "Heat", "30"]
    packed = pack(tmp_path / "file.csv" if make is None else given, tmp_path / "t.kmt")
    assert packed.items.labels.tolist() == ["Alien", "Heat", "30"]
    bare = read(TITLED, time=False) if make is None else read_ratings(given, time=False)
    assert packed.source == bare.source


# --- what is kept of it -------------------------------------------------------------------------------------------


def test_parts_of_a_table_know_where_it_came_from(read):
    found = read(lines("1", "2", "5"))
    for part in (*found.split(0.4, random_state=0), found.with_titles(items={"tea": "Tea"})):
        assert part.source is found.source
    assert Observations.from_arrays([1], [2], [1]).source is None


def test_it_goes_through_a_file(read):
    about = read(GERMAN).source
    assert Provenance.from_dict(about.to_dict()) == about
    for name, value in [("columns", {"user": 3}), ("words", {"yes": "1"}), ("n_records", "3"), ("recipe", [])]:
        with pytest.raises(InvariantError):
            Provenance.from_dict(about.to_dict() | {name: value})
