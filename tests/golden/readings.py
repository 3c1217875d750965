"""Small files of every kind that is read, and broken ones: what they are read as is in `readings.json`.

A file is its content and the options it is read with; `None` for options stands for none.
"""

import bz2
import gzip
import io
import lzma
import re
import zipfile

import numpy as np
import pandas as pd
import scipy.sparse as sp

import kolmogorov as km

LONG = "user,item,rating\nann,tea,5\nann,rum,1\nbob,tea,4\n"
WIDE = "person,tea,rum,gin\nann,5,1,\nbob,4,,2\n"
FRAME = pd.DataFrame({"user": ["ann", "ann", "bob"], "item": ["tea", "rum", "tea"], "rating": [5, 1, 4]})


def zipped(text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        out.writestr("ratings.csv", text)
    return buffer.getvalue()


def parquet(frame):
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


#: Name -> (content, options).
FILES = {
    "comma.csv": (LONG, {}),
    "tab.tsv": (LONG.replace(",", "\t"), {}),
    "semicolon.csv": (LONG.replace(",", ";"), {}),
    "colons.dat": ("1::10::5::978300760\n1::20::3::978302109\n2::10::4::978301968\n", {}),
    "bar.csv": (LONG.replace(",", "|"), {}),
    "blanks.txt": ("ann tea 5\nann rum 1\nbob tea 4\n", {}),
    "aligned.txt": ("ann    tea   5\nann    rum   1\nbob    tea   4\n", {}),
    "windows_lines.csv": (LONG.replace("\n", "\r\n"), {}),
    "no_last_newline.csv": (LONG.rstrip(), {}),
    "blank_lines.csv": ("\n\nuser,item,rating\n\nann,tea,5\n  \nbob,tea,4\n\n", {}),
    "headless.csv": ("1,10,4\n1,20,5\n2,10,0\n", {}),
    "strange_header.csv": ("a,b,c\n1,10,4\n1,20,5\n2,10,0\n", {}),
    "header_said.csv": ("x,y,z\nx,y,1\n", {"header": True}),
    "headless_said.csv": ("item,user,5\nann,bob,4\n", {"header": False}),
    "usual_names.csv": ("rating,movieId,userId\n4,10,1\n5,20,1\n0,10,2\n", {}),
    "capitals.csv": ("User ID;Product;Stars\nu1;p1;3\nu2;p1;1\n", {}),
    "timestamp.csv": (
        "userId,movieId,rating,timestamp\n1,10,4.5,964982703\n1,20,5,964981247\n2,10,0.5,964982224\n",
        {},
    ),
    "title_beside_id.csv": ("userId,title,movieId,rating\n1,Alien,10,4\n2,Heat,20,5\n", {}),
    "by_name.csv": (
        "when,stars,film,who,n\n7,4,10,1,2\n7,5,20,1,1\n7,0,10,2,9\n",
        {"user": "who", "item": "film", "value": "stars"},
    ),
    "by_place.csv": ("7,4,10,1\n7,5,20,1\n7,0,10,2\n", {"user": 3, "item": 2, "value": 1}),
    "weights.csv": ("user,item,rating,n\nann,tea,5,2\nann,rum,1,1\nbob,tea,4,9\n", {"weight": "n"}),
    "utf8_mark.csv": ("\ufeff" + LONG, {}),
    "utf16.csv": (LONG.replace("ann", "Zoë").encode("utf-16"), {}),
    "cp1252.csv": ("user,item,rating\nJosé,Fräulein Müller’s Café – ½,3\nÄnne,Crème brûlée,5\n".encode("cp1252"), {}),
    "latin1_said.csv": ("user,item,rating\nx,é,1\ny,é,0\n".encode("latin-1"), {"encoding": "latin-1"}),
    "cp1251_said.csv": ("user,item,rating\nПривет,a,1\nbob,a,0\n".encode("cp1251"), {"encoding": "cp1251"}),
    "quotes.csv": ('user,title,rating\n"ann","Good, Bad\nand Ugly",5\n"Zoë","Say ""hi""",1\n', {}),
    "packed.csv.gz": (gzip.compress(LONG.encode(), mtime=0), {}),
    "packed.csv.bz2": (bz2.compress(LONG.encode()), {}),
    "packed.csv.xz": (lzma.compress(LONG.encode()), {}),
    "packed.zip": (zipped(LONG), {}),
    "misnamed.csv": (gzip.compress(LONG.encode(), mtime=0), {}),
    "plain.parquet": (parquet(FRAME), {}),
    "numbers.parquet": (
        parquet(pd.DataFrame({"rating": [4, 5, 0], "movie_id": [10, 20, 10], "user_id": [1, 1, 2]})),
        {},
    ),
    "categories.parquet": (parquet(FRAME.astype({"user": "category", "item": "category"})), {}),
    "floats.parquet": (parquet(FRAME.assign(rating=np.float32([4.5, 1, 3]))), {}),
    "leading_zeros.csv": ("user,item,rating\n01,a,1\n1,b,1\n002,a,0\n", {}),
    "whole_ids.csv": ("user,item,rating\n10,7,1\n9,7,0\n-2,8,1\n", {}),
    "yes_no.csv": ("user,item,vote\nann,m1,yes\nann,m2,no\nbob,m1,YES\n", {}),
    "plus_minus.csv": ("user,item,vote\nann,m1,+\nann,m2,-\nbob,m1,+\n", {}),
    "true_false.csv": ("user,item,liked\nann,m1,true\nann,m2,false\nbob,m1,True\n", {}),
    "ja_nein.csv": ("user,item,vote\nann,m1,ja\nann,m2,nein\n", {}),
    "mapped.csv": (
        "user,item,vote\nann,m1,yes\nann,m2,abstain\nbob,m1,absent\nbob,m2,no\n",
        {"map": {"yes": 1, "abstain": 0.5, "no": 0}, "missing": ("", "absent")},
    ),
    "missing_number.csv": ("user,item,rating\nann,tea,5\nann,rum,99\nbob,tea,4\n", {"missing": 99}),
    "missing_blank.csv": ("user,item,rating\nann,tea,5\nann,rum,\nbob,tea,4\n", {"missing": ""}),
    "halves.csv": ("user,item,rating\nann,tea,0.5\nann,rum,4.5\nbob,tea,3\n", {}),
    "negative.csv": ("user,joke,rating\n1,1,-9.5\n1,2,3.25\n2,1,8.75\n", {}),
    "negative_said.csv": ("user,joke,rating\n1,1,-9.5\n1,2,3.25\n2,1,8.75\n", {"minimum": -10, "maximum": 10}),
    "min_max.csv": ("user,item,rating\nann,tea,1\nann,rum,3\nbob,tea,5\n", {"scaling": "minmax"}),
    "decimal_comma.csv": ("user;item;rating\nann;tea;3,5\nann;rum;1\nbob;tea;5\n", {}),
    "exponents.csv": ("user,item,rating\nann,tea,1e0\nann,rum,2.5E-1\nbob,tea,.5\n", {}),
    "mean_of_two.csv": (LONG + "ann,tea,3\n", {"duplicates": "mean"}),
    "last_of_two.csv": (LONG + "ann,tea,3\n", {"duplicates": "last"}),
    "clicks.csv": ("user,item\nann,tea\nann,rum\nbob,tea\nann,tea\n", {"implicit": True}),
    "wide.csv": (WIDE, {"wide": True}),
    "wide_comma.csv": ("person;tea;coffee;water\nann;3,5;;5\nbob;;1,5;4\n", {"wide": True, "maximum": 5}),
    "wide_ignored.csv": ("person,Age,tea,rum\nann,34,5,1\nbob,61,4,2\n", {"wide": True, "ignore": "Age"}),
    "titles.csv": (LONG, {"titles": {"tea": "Green tea", "rum": "Dark rum"}}),
}


def sources():
    """What is read and is no file: frames, streams, arrays."""
    import polars
    import pyarrow

    dense = [[0.8, 0.4], [float("nan"), 0.6]]
    return {
        "pandas": (FRAME, {}),
        "pandas ids as numbers": (FRAME.assign(user=[3, 3, 7]), {}),
        "pandas wide": (pd.DataFrame({"tea": [5.0, 4.0], "rum": [1.0, None]}, index=["ann", "bob"]), {"wide": True}),
        "polars": (polars.DataFrame(FRAME.to_dict("list")), {}),
        "arrow": (pyarrow.Table.from_pandas(FRAME, preserve_index=False), {}),
        "dense": (np.array(dense), {}),
        "sparse": (sp.csr_array(([0.8, 0.4, 0.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 2)), {}),
    }


BROKEN = {
    "not_a_number.csv": ("1,2,3\n1,3,abc\n", {}),
    "underscore.csv": ("u,i,r\n1,2,3\n\n1,3,4_0\n", {}),
    "nothing.csv": ("1,2,\n", {}),
    "nan.csv": ("1,2,3\n1,3,nan\n", {}),
    "infinite.csv": ("1,2,3\n1,3,inf\n", {}),
    "too_few.csv": ("1,2,3\n1,3\n", {}),
    "too_many.csv": ("1,2,3\n\n1,3,1,9\n", {}),
    "duplicate.csv": ("1,2,3\n1,3,4\n1,2,5\n", {}),
    "empty.csv": ("", {}),
    "only_header.csv": ("user,item,rating\n", {}),
    "two_columns.csv": ("1,2\n3,4\n", {}),
    "binary.csv": (b"\x00\x01\x02binary", {}),
    "not_utf8.csv": (b"user,item,rating\n1,1,1\n\xff\xfe,1,2\n", {}),
    "cut.csv.gz": (gzip.compress(LONG.encode(), mtime=0)[:-12], {}),
    "no_gzip.csv.gz": (b"\x1f\x8b garbage that is not gzip", {}),
    "no_parquet.parquet": (b"not parquet", {}),
    "open_quote.csv": ('1,x,2\n1,"abc,3\n2,"d,4\n', {}),
    "above_maximum.csv": ("user,item,rating\n1,2,3\n1,3,6\n", {"maximum": 5}),
    "no_weight.csv": ("user,item,rating,n\n1,2,3,1\n1,3,6,0\n", {"weight": "n"}),
    "no_column.csv": (LONG, {"value": "ratings"}),
    "no_place.csv": (LONG, {"value": 4}),
    "which_user.csv": ("movieId,rating,who\n1,2,3\n", {}),
    "blank_id.csv": ("user,item,rating\n1,10,3\n1,,4\n", {}),
    "no_map.csv": ("user,item,vote\nann,m1,yes\nann,m2,abstain\n", {}),
    "wide_age.csv": (
        "person,Age,tea,rum,gin\nann,34,5,1,2\nbob,61,4,2,2\ncas,19,1,2,5\ndan,44,1,4,5\n",
        {"wide": True},
    ),
    "wide_word.csv": ("person,tea,rum\nann,5,1\nbob,x,2\n", {"wide": True}),
    "words.csv": ("user,item,rating\nann,tea,good\nann,rum,bad\n", {}),
    "absent.csv": (None, {}),
    "negative_parquet.parquet": (parquet(FRAME.assign(rating=[5, -1, 4])), {"maximum": 5}),
}


def told(observations):
    """Return what a source was read as, in plain values."""
    table, scale = observations, observations.scale
    found = {
        "users": table.users.ids.tolist(),
        "items": table.items.ids.tolist(),
        "entries": [table.user_rows().tolist(), table.item_rows().tolist(), table.values.tolist()],
        "scale": [scale.minimum, scale.maximum, str(scale)],
        "source": str(table.source).splitlines(),
    }
    if table.weights is not None:
        found["weights"] = table.weights.tolist()
    if table.items.labels is not None:
        found["titles"] = [str(title) for title in table.items.labels]
    return found


def read(content, options, name, folder):
    """Write a file, unless there is to be none, and read it."""
    path = folder / name
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return told(km.read_ratings(path, **options))


def refused(content, options, name, folder):
    """Return how a broken file is refused: the class, whether the file is named, and the line."""
    try:
        read(content, options, name, folder)
    except (km.errors.KolmogorovError, OSError) as error:
        line = re.search(r"line (\d+)", str(error))
        return [type(error).__name__, name in str(error), int(line[1]) if line else None]
    return None


def all_read(folder):
    """Return what every file and source is read as, and how every broken file is refused."""
    found = {name: read(*given, name, folder) for name, given in FILES.items()}
    for name, (source, options) in sources().items():
        arrays = name in ("dense", "sparse")
        take = km.Observations.from_dense if name == "dense" else km.Observations.from_scipy
        found[name] = told(take(source) if arrays else km.read_ratings(source, **options))
    return {"files": found, "broken": {name: refused(*given, name, folder) for name, given in BROKEN.items()}}
