/** [P] Links to the ranges of days that have names. */
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { RANGE_NAMES, RANGES, filterParameters } from '../queries/usage-query.ts';
import type { UsagePageQuery } from '../queries/usage-query.ts';
import { withParameters } from '../paths.ts';

/** Links to the ranges that have names. */
export function renderRanges(path: string, query: UsagePageQuery, kept: Readonly<Record<string, string>>): Html {
  return html`<ul class="segments" aria-label="Range">
    ${RANGE_NAMES.map(
      (range) =>
        html`<li>
          <a
            href="${withParameters(path, { ...filterParameters(query), ...kept, ...(range === '30d' ? {} : { range }) })}"
            ${range === query.range ? html`aria-current="true"` : NOTHING}
            >${RANGES[range]}</a
          >
        </li>`,
    )}
  </ul>`;
}
