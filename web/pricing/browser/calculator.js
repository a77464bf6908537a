/**
 * Counts what a call costs as one types, exactly: whole numbers of any size, the figures that the server wrote beside
 * the result, with the gateway's own functions sumOf and roundHalfUp (calculator-script.ts). Another model, group, tier
 * or region has other figures, and so has an input that reaches another context tier: the server is asked for that part.
 */
/* global sumOf, roundHalfUp */
(() => {
  const form = document.getElementById('calculate');
  if (!form) return;

  const E9 = 10n ** 9n;
  const MANY = 1000n;
  /** What was typed, by parameter, for models that are priced otherwise too. */
  const typed = {};
  let asked = new AbortController();

  const fields = () => [...form.querySelectorAll('input[data-name]')];
  const byValue = (a, b) => (a < b ? -1 : Number(a > b));

  /** As the server reads it; undefined: not a whole number. */
  function parseCount(text) {
    const digits = text.replace(/[\s,_'’]/g, '');
    return /^\d{0,15}$/.test(digits) ? BigInt(digits) : undefined;
  }

  function decimal(nano) {
    return {
      whole: nano / E9,
      fraction: String(nano % E9)
        .padStart(9, '0')
        .replace(/0+$/, '')
        .padEnd(2, '0'),
    };
  }

  /** Every digit of it. */
  function exactUsd(nano) {
    const { whole, fraction } = decimal(nano);
    return `$${whole.toLocaleString('en-US')}.${fraction}`;
  }

  /** One class's amount, to the nano-dollar. */
  function shownUsd({ numerator, denominator }) {
    const rounded = roundHalfUp(numerator, denominator);
    const { whole, fraction } = decimal(rounded);
    return `${rounded * denominator === numerator ? '' : '≈ '}$${whole}.${fraction}`;
  }

  /** The figures beside the result: one of each price that may apply. */
  function readPrices(result) {
    return JSON.parse(result.dataset.figures).map((figures) =>
      Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, BigInt(value)])),
    );
  }

  /** By class; what cannot be read is marked, and counts nothing. `context`: the tokens of the whole input. */
  function readCounts() {
    const counts = {};
    let whole = true;
    let context = 0n;
    for (const input of fields()) {
      const count = parseCount(input.value);
      const faulty = count === undefined;
      if (faulty) input.setAttribute('aria-invalid', 'true');
      else input.removeAttribute('aria-invalid');
      document.getElementById(`${input.id}-fault`).hidden = !faulty;
      if (faulty) whole = false;
      counts[input.dataset.name] = count ?? 0n;
      if ('context' in input.dataset) context += count ?? 0n;
    }
    return { counts, whole, context };
  }

  function rangeText(low, high) {
    return low === high ? exactUsd(low) : `${exactUsd(low)} – ${exactUsd(high)}`;
  }

  /** At each price, rounded once, lowest first. */
  function costs(prices, counts) {
    return prices.map((price) => roundHalfUp(sumOf(price, counts), price.denominator)).sort(byValue);
  }

  function writeLine(line, prices, count) {
    const name = line.dataset.line;
    const amounts = prices
      .map((price) => ({ numerator: price[name] * count, denominator: price.denominator }))
      .sort((a, b) => byValue(a.numerator * b.denominator, b.numerator * a.denominator));
    const from = shownUsd(amounts[0]);
    const to = shownUsd(amounts.at(-1));
    line.querySelector('[data-count]').textContent = count.toLocaleString('en-US');
    line.querySelector('[data-amount]').textContent = from === to ? from : `${from}–${to}`;
  }

  function writeTerm(term, count) {
    (term.querySelector('[data-count]') ?? term).textContent = count.toLocaleString('en-US');
    if (!('always' in term.dataset)) term.hidden = count === 0n;
  }

  /** Writes the result for what the fields hold. */
  function calculate() {
    const result = document.getElementById('estimate');
    const { counts, whole, context } = readCounts();
    if (!result.dataset.figures) return;
    const step = JSON.parse(result.dataset.steps).filter((above) => context > BigInt(above)).length;
    if (step !== Number(result.dataset.step)) {
      void askPart();
      return;
    }
    const prices = readPrices(result);
    const all = costs(prices, counts);
    const low = all[0];
    const high = all.at(-1);
    const sum = whole ? rangeText(low, high) : '—';
    const shown = result.querySelector('[data-sum]');
    if (shown.textContent !== sum) shown.textContent = sum;
    const many = result.querySelector('[data-many]');
    many.hidden = !whole;
    many.querySelector('b').textContent = rangeText(low * MANY, high * MANY);
    for (const line of result.querySelectorAll('[data-line]')) writeLine(line, prices, counts[line.dataset.line]);
    for (const term of result.querySelectorAll('[data-term]')) writeTerm(term, counts[term.dataset.term]);
  }

  function remember() {
    for (const input of fields()) typed[input.name] = input.value;
  }

  /** In place of the part that was asked with: what was typed since stays, and so does where one is typing. */
  function replacePart(part, answered) {
    remember();
    const { id, selectionStart, selectionEnd } = document.activeElement ?? {};
    const wasWithin = part.contains(document.activeElement);
    part.replaceWith(document.adoptNode(answered));
    for (const input of fields()) input.value = typed[input.name] ?? input.value;
    const focused = wasWithin && id ? document.getElementById(id) : null;
    focused?.focus();
    if (focused?.matches('input')) focused.setSelectionRange(selectionStart, selectionEnd);
    calculate();
  }

  /** What is typed and chosen now. */
  function query() {
    remember();
    const chosen = [...form.querySelectorAll('select')].map(({ name, value }) => [name, value]);
    return new URLSearchParams({ ...typed, ...Object.fromEntries(chosen) });
  }

  /** The same counts with what is chosen now. */
  async function askPart() {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    const part = document.getElementById('calculation');
    part.setAttribute('aria-busy', 'true');
    try {
      const response = await fetch(`${location.pathname}?${query()}&part=calculation`, {
        signal,
        headers: { accept: 'text/html' },
      });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      const answered = new DOMParser()
        .parseFromString(await response.text(), 'text/html')
        .getElementById('calculation');
      replacePart(part, answered);
    } catch {
      // Without scripts the same choice is a page load: whatever went wrong, that shows it.
      if (!signal.aborted) location.assign(`${location.pathname}?${query()}#calculator`);
    }
  }

  form.addEventListener('input', (event) => {
    if (event.target.matches('input')) calculate();
  });
  form.addEventListener('change', (event) => {
    if (event.target.matches('select')) void askPart();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    calculate();
  });

  /** What was chosen and typed before this ran, or in an earlier visit that the browser restores. */
  function catchUp() {
    const isOther = (select) => select.value !== (select.querySelector('option[selected]') ?? select.options[0]).value;
    if ([...form.querySelectorAll('select')].some(isOther)) void askPart();
    else if (fields().some((input) => input.value !== input.defaultValue)) calculate();
  }
  catchUp();
  addEventListener('pageshow', catchUp);
})();
