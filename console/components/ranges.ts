/** [P] Links to the ranges of days that have names. */
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { RANGE_NAMES, RANGES, filterParameters } from '../queries/usage-query.ts';
import type { UsagePageQuery } from '../queries/usage-query.ts';
import { withParameters } from '../paths.ts';
import { segments } from './tabs.ts';

/** Links to the ranges that have names. */
export function renderRanges(path: string, query: UsagePageQuery, kept: Readonly<Record<string, string>>): Html {
  return html`<div class="toolbar usage-range">
    ${segments(
      'Range',
      RANGE_NAMES.map((range) => ({
        label: RANGES[range],
        href: withParameters(path, { ...filterParameters(query), ...kept, ...(range === '30d' ? {} : { range }) }),
        current: range === query.range,
      })),
    )}
  </div>`;
}
