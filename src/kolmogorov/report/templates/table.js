// Tables that sort, and say so in the address.
const PORTION = 500;

/**
 * Columns: {name, value(row), show(row), fixed}; numbers stand to the right. `name` keeps sort and length in the address.
 * Rows for which `dim` says so are grey and come last. `key` explains what is drawn in it; `file` is what a file of it
 * holds, a line of names and a line for each row: by default the columns that can be sorted.
 */
function dataTable({
  name,
  caption,
  columns,
  rows,
  limit = 100,
  dim = null,
  empty = "Nothing to show.",
  mark = null,
  key = null,
  file = null,
}) {
  if (!rows.length) return el("p", { class: "soft empty" }, empty);
  const numeric = columns.map((column) => rows.some((row) => typeof column.value(row) === "number"));
  const body = el("tbody");
  const more = button("", () => {
    shown = Infinity;
    remember({ [`${name}.all`]: 1 });
    draw(PORTION);
  });
  let shown = remembered(`${name}.all`) ? Infinity : limit;
  let current = rows;
  // Thousands of cells are made in one go: copies of a first one are cheaper than new ones.
  const blank = columns.map((column, k) => el("td", { class: numeric[k] ? "number" : null, "data-label": column.name }));
  const cells = (row) =>
    columns.map((column, k) => {
      const cell = blank[k].cloneNode();
      cell.append(column.show ? column.show(row) : String(column.value(row)));
      return cell;
    });
  const lineOf = (row) => {
    const line = el("tr", { class: dim && dim(row) ? "dim" : null }, cells(row));
    if (mark) mark(line, row);
    return line;
  };
  let turn = 0;
  // What a press asks for begins to show at once; a page that is returned to is drawn whole, to be scrolled to its place.
  const draw = (atOnce = Infinity) => {
    const wanted = current.slice(0, shown);
    const own = ++turn;
    body.replaceChildren(...wanted.slice(0, atOnce).map(lineOf));
    const go = (from) => {
      if (own !== turn || from >= wanted.length) return;
      body.append(...wanted.slice(from, from + PORTION).map(lineOf));
      setTimeout(go, 0, from + PORTION);
    };
    setTimeout(go, 0, atOnce);
    more.hidden = current.length <= shown;
    more.textContent = `Show all ${whole(current.length)}`;
  };
  const arrange = (k, sign) => {
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    if (k >= 0) headings[k].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const keys = new Map(rows.map((row) => [row, k >= 0 ? columns[k].value(row) : 0]));
    current = [...rows].sort((a, b) => {
      if (dim && dim(a) !== dim(b)) return dim(a) - dim(b);
      const [x, y] = [keys.get(a), keys.get(b)];
      if (missing(x) || missing(y)) return missing(x) - missing(y);
      return sign * (k < 0 || numeric[k] ? x - y : LETTERS.compare(String(x), String(y)));
    });
    draw();
  };
  const sort = (k) => {
    const before = headings[k].getAttribute("aria-sort");
    const sign = before === "descending" || (!numeric[k] && !before) ? 1 : -1;
    remember({ [`${name}.sort`]: `${sign < 0 ? "-" : ""}${columns[k].name}` });
    arrange(k, sign);
  };
  const headings = columns.map((column, k) =>
    el(
      "th",
      { scope: "col", class: numeric[k] ? "number" : null },
      column.fixed ? column.name : button(column.name, () => sort(k)),
    ),
  );
  const wanted = remembered(`${name}.sort`, "");
  const place = columns.findIndex((column) => column.name === wanted.replace(/^-/, "") && !column.fixed);
  arrange(place, place >= 0 && wanted.startsWith("-") ? -1 : 1);
  const table = el("table", {}, el("thead", {}, el("tr", {}, headings)), body);
  const written = columns.filter((column) => !column.fixed);
  const lines = () => [written.map((column) => column.name), ...current.map((row) => written.map((column) => column.value(row)))];
  return el(
    "div",
    { class: "table" },
    el(
      "div",
      { class: "about" },
      el("p", { class: "soft" }, caption ?? "", key ? [" ", key] : null),
      saveTable(name, file ?? lines),
    ),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || name }, table),
    more,
  );
}
