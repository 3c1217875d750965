"""Make the bundled tables `un-votes` and `food` out of the files that their authors publish.

    python packaging/bundle.py FOLDER

FOLDER holds ``un-votes/votes.csv.xz`` and ``un-votes/roll_calls.csv.xz`` (of the R package unvotes) and
``food-world-cup/food-world-cup-data.csv`` (of FiveThirtyEight's repository of data).
"""

import csv
import io
import lzma
import re
import sys
from pathlib import Path

import pandas as pd

OUT = Path(__file__).resolve().parents[1] / "src" / "kolmogorov" / "data" / "files"
FIRST_DAY = "2000-01-01"
LETTERS = {"yes": "y", "abstain": "a", "no": "n"}
LONGEST = 110

_ADOPTED = re.compile(r"\s*:?\s*(?:resolution)?\s*/?\s*(?:ad[ou]pted by the .*)?\s*\.?$", re.IGNORECASE)
_ENTITLED = re.compile(r"entitled\s+(?:_|\"|\u201c)(.{8,300}?)(?:<d3>|\"|\u201d)")
_SPOKEN = re.compile(r"^(The )?(Acting |Temporary )?President|put to the vote")
_PARAGRAPH = re.compile(r"((?:[a-z]+ )?(?:preambular|operative) paragraphs?(?: \d+\w*(?: \([a-z]\))?)?)")
UNTITLED = re.compile(r"Resolution \d|A motion")
_BEFORE = re.compile(r"^(?:the|of|on|vote) ")


def resolution(text):
    found = re.search(r"(\d+)/(\d+\w*)", str(text))
    return f"{found[1]}/{found[2]}" if found else ""


def plain(short, description):
    """Return the name of a resolution, or nothing where what is on record is what the chair said."""
    if _SPOKEN.search(description):
        return ""
    text = short if description.startswith("A/") and short else description
    text = text.replace("?\u00c3\u2020", "'").replace("\u00c2", "")
    text = _ADOPTED.sub("", re.sub(r"\s+", " ", text)).strip(" :./-").replace(" : ", ": ")
    return text.capitalize() if text.isupper() else text


def said(text):
    """Return a title as the chair said it, without the signs of pages and broken letters that the record has in it."""
    text = re.sub(r"\s*\d*A/\d+/PV\.\d+\s*", " ", text).replace("<90>", "'").strip(" ,.")
    return (
        text.replace("Quadrennialc", "Quadrennial c")
        .replace("peacethrough", "peace through")
        .replace("Combat set D", "Combat D")
    )


def titles(calls):
    """Return a title for every motion, with its year; a vote on a paragraph is named by its resolution.

    Where no title is on record, it begins with the number of the resolution, or with "A motion": `UNTITLED`.
    """
    names = [plain(short, text) for short, text in zip(calls["short"].fillna(""), calls["descr"], strict=True)]
    numbers = calls["unres"].map(resolution).tolist()
    spoken = [_ENTITLED.search(text) for text in calls["descr"]]
    heard = {number: said(told[1]) for number, told in zip(numbers, spoken, strict=True) if number and told}
    known = heard | {number: name for number, name in zip(numbers, names, strict=True) if number and name}
    seen, found = {}, []
    for name, number, text, date in zip(names, numbers, calls["descr"], calls["date"], strict=True):
        if not name:
            part = _PARAGRAPH.search(text)
            whole = known.get(number, f"Resolution {number}" if number else "A motion")
            name = f"{whole}, {_BEFORE.sub('', part[1])}" if part else f"{whole}, a part of it"
        if len(name) > LONGEST:
            name = name[: LONGEST - 3].rsplit(" ", 1)[0].rstrip(" ,:") + "…"
        title = f"{name} ({date[:4]})"
        seen[title] = seen.get(title, 0) + 1
        found.append(title if seen[title] == 1 else f"{title[:-1]}, vote {seen[title]})")
    return found


def un_votes(folder):
    calls = pd.read_csv(folder / "roll_calls.csv.xz")
    calls = calls[calls["date"] >= FIRST_DAY].sort_values(["date", "rcid"])
    votes = pd.read_csv(folder / "votes.csv.xz")
    table = votes[votes["rcid"].isin(calls["rcid"])].pivot(index="rcid", columns="country", values="vote")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["motion", "date", "title", "|".join(table.columns)])
    for motion, date, title in zip(calls["rcid"], calls["date"], titles(calls), strict=True):
        letters = "".join(LETTERS.get(vote, "-") for vote in table.loc[motion])
        # What has no title goes by its id, which then says what there is to say.
        if UNTITLED.match(title):
            motion, title = f"{motion} ({title})", ""
        writer.writerow([motion, date, title, letters])
    return out.getvalue()


def food(folder):
    table = pd.read_csv(folder / "food-world-cup-data.csv", encoding="mac_roman", dtype=str, keep_default_na=False)
    asked = re.compile(r"traditional cuisine of\s*(?:the )?(.*?)[.:]?\s*$")
    cuisines = {name: asked.search(name.replace("\xa0", " "))[1] for name in table if "traditional cuisine" in name}
    others = dict(zip([name for name in table if name not in cuisines], OTHERS, strict=True))
    table = table.rename(columns=cuisines | others)
    return table.apply(lambda column: column.str.strip().replace("N/A", "")).to_csv(index=False, lineterminator="\n")


OTHERS = ("respondent", "knowledge", "interest", "gender", "age", "income", "education", "region")

if __name__ == "__main__":
    source = Path(sys.argv[1])
    for name, text in (("un-votes", un_votes(source / "un-votes")), ("food", food(source / "food-world-cup"))):
        packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
        (OUT / f"{name}.csv.xz").write_bytes(packed)
        print(f"{name}: {len(packed):,} bytes")
