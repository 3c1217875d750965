// Search boxes: over everything in the head of the page, over items where one is to be chosen.

const folded = once(() => ({
  item: ITEMS.names.map((name) => name.toLowerCase()),
  user: USERS.names.map((name) => name.toLowerCase()),
}));

/** Rows whose names hold all words; those that begin with the first one come first. */
function matches(names, order, words, most) {
  const begin = [],
    other = [];
  for (const row of order) {
    if (!words.every((word) => names[row].includes(word))) continue;
    (names[row].startsWith(words[0]) ? begin : other).push(row);
    if (begin.length >= most) break;
  }
  return [...begin, ...other].slice(0, most);
}

const foundItems = (words, most) => matches(folded().item, byCount, words, most);
const foundUsers = (words, most) => matches(folded().user, range(USERS.names.length), words, most);

/** A box with a list below it; arrow keys walk through what `look(words)` found, Enter takes it, Escape leaves. */
function searchBox(label, look) {
  const list = el("ul", { class: "found" });
  const status = el("p", { class: "soft hint", role: "status" });
  const search = () => {
    const words = wordsOf(input.value);
    const found = words.length ? look(words) : [];
    const none = words.length && !found.length ? el("li", { class: "soft nothing" }, "Nothing found.") : null;
    list.replaceChildren(...found.map((entry) => el("li", {}, entry)), ...(none ? [none] : []));
    status.textContent = found.length ? `${found.length} found` : none ? "Nothing found." : "";
  };
  const input = el("input", { type: "search", placeholder: label, "aria-label": label, oninput: search, autocomplete: "off" });
  const box = el("div", { class: "search", role: "search", "aria-label": label }, input, status, list);
  const close = () => {
    input.value = "";
    search();
  };
  box.addEventListener("keydown", (event) => {
    const stops = [input, ...list.querySelectorAll("a, button")];
    const at = stops.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && stops[at + step]) {
      stops[at + step].focus();
      event.preventDefault();
    }
    if (event.key === "Enter" && at === 0 && stops[1]) {
      event.preventDefault();
      stops[1].click();
    }
    if (event.key === "Escape") {
      close();
      document.activeElement.blur();
    }
  });
  list.addEventListener("click", (event) => {
    if (event.target.closest("a, button")) setTimeout(close);
  });
  return box;
}

/** A box in which one item is chosen. */
function itemPicker(label, pick, fits = () => true) {
  return searchBox(label, (words) =>
    foundItems(words, 60)
      .filter(fits)
      .slice(0, 12)
      .map((row) => button(clipped(ITEMS.names[row], 90), () => pick(row))),
  );
}

/** The box in the head of the page. */
function searchEverything() {
  const kind = (word) => el("span", { class: "soft" }, ` ${word}`);
  const link = (href, text, word) => el("a", { href }, clipped(text, 90), kind(word));
  return searchBox("Search (press /)", (words) => [
    ...range(N_EVENTS)
      .filter((event) => words.every((word) => eventName(event).toLowerCase().includes(word)))
      .slice(0, 4)
      .map((event) => link(linkTo("events", event), eventName(event), "event")),
    ...foundItems(words, 8).map((row) => link(itemPlace(row), ITEMS.names[row], NOUN.item[0])),
    ...foundUsers(words, 8).map((user) => link(userPlace(user), USERS.names[user], NOUN.user[0])),
  ]);
}

/** A table of the rows whose names hold all words of a field, which stands above it. */
function filteredTable(noun, names, rows, table) {
  const list = el("div");
  const draw = () => {
    const words = wordsOf(field.value);
    list.replaceChildren(
      dataTable({
        ...table(
          rows.filter((row) => words.every((word) => names[row].includes(word))),
          words,
        ),
        limit: 50,
        empty: "Nothing found.",
      }),
    );
  };
  const field = el("input", {
    type: "search",
    placeholder: `Filter ${noun} by name`,
    "aria-label": `Filter ${noun} by name`,
    value: remembered("q", ""),
    oninput: () => {
      remember({ q: field.value });
      draw();
    },
  });
  draw();
  return [field, list];
}
