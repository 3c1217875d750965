// A page of a model of events.
const sides = [["item", SEEN, ITEMS.names], ["user", range(USERS.names.length), USERS.names]];
document.getElementById("search").append(
  finder(`Find ${NOUN.item[1]} and ${NOUN.user[1]}`, sides, (kind, row) => choose({ item: null, user: null, [kind]: row })),
);
document.getElementById("story").append(
  overview(),
  eventsSection(),
  ...(PIXEL_ITEMS ? [] : [matrixSection(), rulesSection(), whatIfSection()]),
);
DRAWN.push(panel);
panel();
