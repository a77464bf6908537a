/**
 * Sorts and filters the price table in place. The server has rendered everything, for this very address: the script
 * reads the rows' ranks and marks, never computes a price, and keeps the view's state in the address. Choosing a group
 * changes prices, so those rows are asked from the server again.
 */
(() => {
  const form = document.getElementById('filters');
  const table = document.getElementById('table');
  if (!form || !table) return;

  // Not form.elements: the headings' buttons are named "sort" too.
  const controls = Object.fromEntries(
    ['q', 'vendor', 'type', 'use', 'context', 'group', 'sort'].map((name) => [
      name,
      form.querySelector(`input[name=${name}], select[name=${name}]`),
    ]),
  );
  const columns = [...table.tHead.querySelectorAll('button')].map((button) => button.dataset.column);
  const modelColumn = columns.indexOf('model');
  const DEFAULT_SORT = 'vendor';
  let rows = readRows();
  let orderedBy = controls.sort.value;
  let asked = new AbortController();

  function readRows() {
    return [...table.tBodies[0].rows].map((element) => ({
      element,
      text: `${element.cells[0].querySelector('bdi').textContent} ${element.cells[1].textContent}`.toLowerCase(),
      vendor: element.dataset.v,
      type: element.dataset.t,
      uses: new Set(element.dataset.u.split(' ')),
      context: Number(element.dataset.c),
      groups: new Set(element.dataset.g.split(' ')),
      ranks: element.dataset.r.split(' ').map(Number),
    }));
  }

  /** What the controls say now. Vendors and groups are known by their place among the options. */
  function readView() {
    return {
      words: controls.q.value.trim().toLowerCase().split(/\s+/),
      vendor: chosenOption(controls.vendor),
      type: controls.type.value,
      use: controls.use.value,
      context: Number(controls.context.value),
      group: chosenOption(controls.group),
    };
  }

  /** The place of the chosen option behind the first, which means all. */
  function chosenOption(select) {
    return select.selectedIndex === 0 ? '' : String(select.selectedIndex - 1);
  }

  function matches(row, { words, vendor, type, use, context, group }) {
    if (vendor && row.vendor !== vendor) return false;
    if (type && row.type !== type) return false;
    if (use && !row.uses.has(use)) return false;
    if (row.context < context) return false;
    if (group && !row.groups.has(group)) return false;
    return words.every((word) => row.text.includes(word));
  }

  function sortRows(sort) {
    const descending = sort.startsWith('-');
    const column = columns.indexOf(sort.slice(descending ? 1 : 0));
    const direction = descending ? -1 : 1;
    rows.sort((a, b) => {
      const left = a.ranks[column];
      const right = b.ranks[column];
      if (left === right) return a.ranks[modelColumn] - b.ranks[modelColumn];
      if (left < 0 || right < 0) return left < 0 ? 1 : -1;
      return (left - right) * direction;
    });
    const body = table.tBodies[0];
    body.append(...rows.map(({ element }) => element));
    markHeadings(sort.slice(descending ? 1 : 0), descending);
    orderedBy = sort;
  }

  function markHeadings(sorted, descending) {
    for (const button of table.tHead.querySelectorAll('button')) {
      const { column } = button.dataset;
      const heading = button.closest('th');
      if (column === sorted) heading.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      else heading.removeAttribute('aria-sort');
      button.value = column === sorted && !descending ? `-${column}` : column;
    }
  }

  /** Shows the view that the controls describe. */
  function apply() {
    const sort = controls.sort.value;
    if (sort !== orderedBy) sortRows(sort);
    const byVendor = sort.endsWith('vendor');
    table.tBodies[0].classList.toggle('by-vendor', byVendor);
    const view = readView();
    let visible = 0;
    let vendor;
    for (const row of rows) {
      const shown = matches(row, view);
      if (row.element.hidden === shown) row.element.hidden = !shown;
      row.element.classList.toggle('lead', shown && byVendor && row.vendor !== vendor);
      if (!shown) continue;
      visible += 1;
      vendor = row.vendor;
    }
    const models = `${rows.length.toLocaleString('en-US')} ${rows.length === 1 ? 'model' : 'models'}`;
    const count = visible === rows.length ? models : `${visible.toLocaleString('en-US')} of ${models}`;
    const status = document.getElementById('count');
    if (status.textContent !== count) status.textContent = count;
    document.getElementById('none').hidden = visible > 0;
  }

  function address() {
    const parameters = new URLSearchParams();
    for (const name of ['key', 'q', 'vendor', 'type', 'use', 'context', 'group']) {
      const value = controls[name]?.value.trim();
      if (value) parameters.set(name, value);
    }
    if (controls.sort.value !== DEFAULT_SORT) parameters.set('sort', controls.sort.value);
    const query = parameters.toString();
    return location.pathname + (query && `?${query}`);
  }

  function update() {
    apply();
    history.replaceState(null, '', address());
  }

  /** The same view at another group's prices. */
  async function askPrices() {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    const url = address();
    table.setAttribute('aria-busy', 'true');
    try {
      const response = await fetch(url, { signal, headers: { accept: 'text/html' } });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      const page = new DOMParser().parseFromString(await response.text(), 'text/html');
      table.tBodies[0].replaceWith(document.adoptNode(page.getElementById('table').tBodies[0]));
      document.getElementById('basis').replaceWith(document.adoptNode(page.getElementById('basis')));
      rows = readRows();
      table.removeAttribute('aria-busy');
      sortRows(controls.sort.value);
      update();
    } catch {
      // Without scripts the same choice is a page load: whatever went wrong, that shows it.
      if (!signal.aborted) location.assign(url);
    }
  }

  form.addEventListener('input', (event) => {
    if (event.target !== controls.group) update();
  });
  controls.group.addEventListener('change', () => void askPrices());
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { column } = event.submitter?.dataset ?? {};
    if (column) controls.sort.value = event.submitter.value;
    update();
  });
  document.getElementById('clear').addEventListener('click', (event) => {
    event.preventDefault();
    const hadGroup = controls.group.selectedIndex > 0;
    controls.q.value = '';
    for (const name of ['vendor', 'type', 'use', 'context', 'group']) controls[name].selectedIndex = 0;
    controls.q.focus();
    if (hadGroup) void askPrices();
    else update();
  });
})();
