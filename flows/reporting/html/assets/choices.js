// What a reader has chosen stands in the address, so that it can be sent: #SECTION?filter=…&sort=t-board.overall.descending

const CHOICES = ["filter", "reference", "dimension", "split"];  // fields by id, each left out where it is as at first
const firstChoices = new Map();

/** The parts of an address: what it names, and what is chosen; null where a view of its own is shown. */
function partedAddress() {
  const [place, chosen = ""] = location.hash.slice(1).split("?");
  return place.includes("/") || place in pages ? null : { place, chosen: new URLSearchParams(chosen) };
}

function writeChoices() {
  const address = partedAddress();
  if (address === null) return;
  const chosen = new URLSearchParams();
  for (const id of CHOICES) {
    const { value } = document.getElementById(id);
    if (value !== firstChoices.get(id)) chosen.set(id, value);
  }
  for (const head of report.querySelectorAll("th[aria-sort]")) {
    chosen.append("sort", [head.closest("table").id, head.firstElementChild.dataset.key, head.getAttribute("aria-sort")].join("."));
  }
  const wanted = `${address.place}${chosen.size ? `?${chosen}` : ""}`;
  if (wanted !== location.hash.slice(1)) history.replaceState(null, "", `#${wanted}`);
}

/** Set fields and orders as the address says; what it names and the page does not have is left as it is. */
function readChoices() {
  const address = partedAddress();
  if (!address?.chosen.size) return writeChoices();  // a link within the page: what was chosen stays
  for (const id of CHOICES) {
    const field = document.getElementById(id), was = field.value;
    field.value = address.chosen.get(id) ?? firstChoices.get(id);
    if (field.value === "" && id !== "filter") field.value = was;
  }
  filterRows();
  fillTables();
  drawAgain();
  for (const wish of address.chosen.getAll("sort")) {
    const [id, key, order] = wish.split(".");
    const head = [...report.querySelectorAll("th")].find((one) => one.closest("table").id === id && one.firstElementChild?.dataset.key === key);
    if (head) sortBy(head, order === "ascending" ? order : "descending");
  }
  document.getElementById(address.place)?.scrollIntoView();
}

function startChoices() {
  for (const id of CHOICES) {
    const field = document.getElementById(id);
    firstChoices.set(id, field.value);
    field.addEventListener(id === "filter" ? "input" : "change", writeChoices);
  }
  addEventListener("hashchange", readChoices);
  readChoices();
}
