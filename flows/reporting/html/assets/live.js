// What a live page has besides: queries of the reader's own, each with an address, and the nights.

/** A number as it is where it is whole, else with six digits; its cell sorts and copies by all of them. */
const short = (value) => (Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6))));

function resultTable({ names, rows, has_more, seconds }) {
  const numbers = names.map((_, i) => rows.every((row) => row[i] === null || typeof row[i] === "number"));
  const shown = rows.map((row) => el("tr", {}, row.map((value, i) =>
    numbers[i] ? cell(value, value === null ? missing : short(value)) : el("td", {}, bdi(value === null ? missing : String(value))))));
  const caption = word(has_more ? "sql_first" : "sql_rows", { n: whole(rows.length), seconds: fixed(seconds) });
  const table = tableOf(caption, names.map((name, i) => [name, numbers[i] ? "n" : "s"]), shown);
  table.querySelector("table").id = "t-sql";
  return el("div", { id: "result" }, el("p", { class: "tools" }, el("button", { type: "button", "data-copy": "t-sql" }, word("copy_csv"))), table);
}

async function resultOf(name, values) {
  try {
    return resultTable(await ask(name, values));
  } catch (error) {
    return el("p", { id: "result", class: "banner warn", role: "alert" }, error.message);
  }
}

const queryLink = (query) => `#sql/${encodeURIComponent(query)}`;

async function sqlView([query = ""]) {
  const field = el("textarea", { id: "query", rows: "6", spellcheck: "false", autocomplete: "off" });
  field.value = query;
  const run = el("button", { type: "button", id: "run" }, word("sql_run"));
  const go = () => (location.hash === queryLink(field.value) ? route() : (location.hash = queryLink(field.value)));
  run.addEventListener("click", go);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go();
  });
  const { relations, queries } = await ask("relations");
  return [crumbs([]), heading("SQL"), el("p", {}, word("sql_said")),
    el("label", { for: "query", class: "hidden" }, word("sql_query")), field, el("p", { class: "controls" }, run),
    query ? await resultOf("query", { sql: query }) : null,
    el("h2", {}, word("sql_ready")), el("ul", {}, queries.map(([title, question, text]) =>
      el("li", {}, el("a", { href: queryLink(text) }, title), " ", el("small", {}, question)))),
    el("h2", {}, word("sql_tables")), el("ul", {}, relations.map(([name, comment]) =>
      el("li", {}, el("a", { href: queryLink(`FROM ${name} LIMIT 100`) }, el("code", {}, name)), " ", el("small", {}, comment)))),
  ];
}

const nightsView = async () => [crumbs([]), heading(word("nights")), el("p", {}, word("nights_said")), await resultOf("nights")];

Object.assign(pages, { sql: sqlView, nights: nightsView });
