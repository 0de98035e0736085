// Everything that happens when the page is opened.

function startMenu() {
  const menu = document.getElementById("menu"), nav = document.getElementById("nav");
  const set = (isOpen) => {
    nav.classList.toggle("open", isOpen);
    menu.setAttribute("aria-expanded", String(isOpen));
  };
  menu.addEventListener("click", () => set(!nav.classList.contains("open")));
  nav.addEventListener("click", () => set(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      set(false);
      document.getElementById("tip")?.remove();
    }
  });
}

function startTheme() {
  const choice = document.getElementById("theme");
  const set = () => {
    if (choice.value) document.documentElement.dataset.theme = choice.value;
    else delete document.documentElement.dataset.theme;
    drawAgain();
  };
  choice.addEventListener("change", set);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAgain());
}

function startFilter() {
  let waiting = 0;
  document.getElementById("filter").addEventListener("input", () => {
    filterRows();
    clearTimeout(waiting);
    waiting = setTimeout(() => (fillTables(), drawAgain()), 150);
  });
}

/** What stays in view below the page's head has to know how high that is. */
function startHead() {
  const head = document.querySelector("header.top");
  new ResizeObserver(() => document.documentElement.style.setProperty("--top", `${head.offsetHeight}px`)).observe(head);
}

startTables();
startHead();
startMenu();
startTheme();
startFilter();
startFront();
addEventListener("hashchange", route);
route();
startCharts();
