// Tables: sorting, copying, and the filter by the method's name.

const compareTexts = new Intl.Collator(data.language, { numeric: true }).compare;

/** The value of a cell: its number with all digits, the method that it names, or its text. */
const valueOf = (item) => item.dataset.v ?? (item.querySelector("bdi") ?? item).textContent.trim();

function sortBy(head, order) {
  const table = head.closest("table"), place = head.cellIndex, ascending = order === "ascending";
  const isNumber = head.firstElementChild.dataset.sort === "n";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const keyed = [...table.tBodies[0].rows].map((row) => {
    const found = row.cells[place];
    const text = found ? valueOf(found) : "";
    return { row, key: isNumber ? (text === "" ? null : Number(text)) : text };
  });
  keyed.sort((a, b) => {
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);  // what is missing comes last
    const found = isNumber ? a.key - b.key : compareTexts(a.key, b.key);
    return ascending ? found : -found;
  });
  table.tBodies[0].append(...keyed.map((item) => item.row));
  for (const row of table.tBodies[0].rows) row.classList.remove("new-group");
}

/** Sort by a column, numbers from the most on and texts from the first; once more turns it round. */
function turnOrder(head) {
  const orders = head.firstElementChild.dataset.sort === "n" ? ["descending", "ascending"] : ["ascending", "descending"];
  sortBy(head, orders[head.getAttribute("aria-sort") === orders[0] ? 1 : 0]);
  writeChoices();
}

function csvOf(table) {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = [...table.tHead.rows, ...table.tBodies[0].rows].filter((row) => !row.hidden);
  return rows.map((row) => [...row.cells].map((item) => quoted(valueOf(item))).join(",")).join("\n") + "\n";
}

async function copyTable(button) {
  const text = csvOf(document.getElementById(button.dataset.copy));
  const label = button.textContent;
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Pages of a file have no clipboard in some browsers; a selection can be copied in all.
    const area = el("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
  }
  button.textContent = word(done ? "csv_copied" : "csv_failed");
  setTimeout(() => (button.textContent = label), 1500);
}

/** Methods that the filter leaves, in the order of the leaderboard; all without one. */
function wantedMethods() {
  const text = document.getElementById("filter").value.trim().toLowerCase();
  return text ? methods.filter((name) => name.toLowerCase().includes(text)) : methods;
}

function filterRows() {
  const wanted = new Set(wantedMethods());
  for (const row of document.querySelectorAll("tr[data-method]")) row.hidden = !wanted.has(row.dataset.method);
  const said = document.getElementById("filter-said");
  said.textContent =
    wanted.size === methods.length ? "" : word("filtered", { n: wanted.size, all: methods.length });
}

function startTables() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.dataset.sort) turnOrder(button.parentElement);
    if (button?.dataset.copy) copyTable(button);
  });
}
