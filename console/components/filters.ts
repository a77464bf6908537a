/** [P] The form above a list that narrows it; it works without scripts. */
import { attribute, flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

interface Filters {
  readonly action: string;
  /** What is searched, for screen readers. */
  readonly label: string;
  /** Further classes. */
  readonly style?: string;
  readonly id?: string;
  /** Parameters that the form keeps; empty ones are left out. */
  readonly kept?: Readonly<Record<string, string>>;
  /** Default: Apply. */
  readonly button?: string;
  /** Stands beside the button. */
  readonly clear?: Html;
}

/** The form around its fields. */
export function filters(
  { action, label, style, id, kept = {}, button = 'Apply', clear = NOTHING }: Filters,
  fields: readonly Html[],
): Html {
  return html`<form
    class="filters${style === undefined ? '' : ` ${style}`}"
    ${attribute('id', id)}
    method="get"
    action="${action}"
    role="search"
    aria-label="${label}"
    autocomplete="off"
  >
    ${fields}
    ${Object.entries(kept).map(([name, value]) =>
      value === '' ? NOTHING : html`<input type="hidden" name="${name}" value="${value}" />`,
    )}
    <div class="actions"><button type="submit" class="button">${button}</button> ${clear}</div>
  </form>`;
}

/** The line that is searched by words. */
export function searchFilter(value: string, placeholder: string): Html {
  return html`<label class="search">
    <span>Search</span>
    <input
      type="search"
      name="q"
      value="${value}"
      maxlength="200"
      placeholder="${placeholder}"
      spellcheck="false"
      autocapitalize="none"
      autocomplete="off"
    />
  </label>`;
}

interface SelectFilter {
  readonly label: string;
  readonly name: string;
  /** The first choice, which lets all through; undefined: there is none. */
  readonly all?: string;
  readonly options: readonly (readonly [value: string, label: string])[];
  readonly chosen: string;
  /** Further classes. */
  readonly style?: string;
}

/** A choice of one value. A chosen value that is not among the options is added to them, so that the form keeps it. */
export function selectFilter({ label, name, all, options, chosen, style }: SelectFilter): Html {
  const isOffered = chosen === '' || options.some(([value]) => value === chosen);
  const offered = isOffered ? options : [...options, [chosen, chosen] as const];
  return html`<label ${attribute('class', style)}>
    <span>${label}</span>
    <select name="${name}">
      ${all === undefined ? NOTHING : html`<option value="">${all}</option>`}
      ${offered.map(
        ([value, words]) => html`<option value="${value}" ${flag('selected', value === chosen)}>${words}</option>`,
      )}
    </select>
  </label>`;
}

interface SuggestedFilter {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly suggestions: readonly string[];
}

const MAX_SUGGESTIONS = 500;

/** A line to type in, with what it may be. */
export function suggestedFilter({ label, name, value, suggestions }: SuggestedFilter): Html {
  return html`<label
      ><span>${label}</span
      ><input
        name="${name}"
        value="${value}"
        list="filter-${name}"
        maxlength="253"
        placeholder="All"
        spellcheck="false"
        autocapitalize="none"
    /></label>
    <datalist id="filter-${name}">
      ${suggestions.slice(0, MAX_SUGGESTIONS).map((each) => html`<option value="${each}"></option>`)}
    </datalist>`;
}

/** The first and the last day. */
export function dayFilters(since: string, until: string): Html {
  return html`<label>
      <span>From (UTC)</span>
      <input type="date" name="since" value="${since}" />
    </label>
    <label>
      <span>To (UTC)</span>
      <input type="date" name="until" value="${until}" />
    </label>`;
}
