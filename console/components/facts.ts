/** [P] Facts as pairs of a name and a value, and large figures side by side. */
import { attribute, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';

/** undefined: it is left out. */
export type Fact = readonly [label: string, value: Html | string | number | undefined];

/** A list of facts. */
export function facts(list: readonly Fact[], style = ''): Html {
  return html`<dl class="facts${style === '' ? '' : ` ${style}`}">
    ${list.map(([label, value]) =>
      value === undefined
        ? NOTHING
        : html`<dt>${label}</dt>
            <dd>${value}</dd>`,
    )}
  </dl>`;
}

export interface Figure {
  readonly label: string;
  readonly value: Html | string;
  /** Below the figure, in small letters. */
  readonly note?: Html | string;
  /** Behind the note. */
  readonly below?: Html;
  /** Attributes of the value. */
  readonly attributes?: Html;
}

/** Figures side by side. */
export function figures(list: readonly Figure[], id?: string): Html {
  return html`<dl class="figures" ${attribute('id', id)}>
    ${list.map(
      ({ label, value, note, below = NOTHING, attributes = NOTHING }) =>
        html`<div>
          <dt>${label}</dt>
          <dd ${attributes}>${value}${note === undefined ? NOTHING : html`<small>${note}</small>`}${below}</dd>
        </div>`,
    )}
  </dl>`;
}
