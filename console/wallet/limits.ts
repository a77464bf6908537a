/** [P] What an account may spend by the day, the week, the month or in total besides its credit, and what it has. */
import type { Account, AccountStatusLimit } from '#crds/types.gen.ts';
import { parseDecimal } from '#snapshot/decimal.ts';
import { pluralize, renderTime, renderUsd } from '#web/format.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { section } from '../components/page.ts';
import { table } from '../components/table.ts';
import { exactUsd } from './grants.ts';

/** A limit of the spec, with its figures as soon as the gateway has written them. */
type LimitRow = Pick<AccountStatusLimit, 'period' | 'timeZone' | 'usd'> & Partial<AccountStatusLimit>;

/** The section of the account's page; nothing where the account has no limits. */
export function renderLimits({ spec, status }: Account): Html {
  const limits = (spec.limits ?? []).map((limit): LimitRow => ({ ...limit, ...figuresOf(limit, status?.limits) }));
  if (limits.length === 0) return NOTHING;
  return section(
    { id: 'limits', title: 'Limits', beside: `${pluralize(limits.length, 'limit')}, besides the credit` },
    table<LimitRow>(
      [
        { title: 'Period', cell: ({ period }) => PERIODS[period] ?? period },
        { title: 'Time zone', style: 'wrap', cell: ({ period, timeZone }) => (period === 'Total' ? DASH : timeZone) },
        { title: 'Limit', num: true, cell: ({ usd }) => exactUsd(usd) },
        { title: 'Spent', num: true, cell: ({ spentUsd }) => money(spentUsd) },
        { title: 'Remaining', num: true, cell: ({ remainingUsd }) => money(remainingUsd) },
        { title: 'Starts anew', cell: ({ resetTime }) => momentOf(resetTime) },
      ],
      limits,
      { caption: 'Limits of what all keys of the account spend together', cards: true },
    ),
  );
}

const PERIODS: Readonly<Record<string, string>> = {
  Day: 'Each day',
  Week: 'Each week',
  Month: 'Each month',
  Total: 'In total',
};
const DASH = html`<span class="soft">—</span>`;

/** The status of the same limit; one that was edited since has none yet. */
function figuresOf(
  { usd, period, timeZone }: LimitRow,
  reported: readonly AccountStatusLimit[] = [],
): Partial<AccountStatusLimit> {
  const same = reported.find(
    (each) => each.period === period && each.timeZone === timeZone && parseDecimal(each.usd) === parseDecimal(usd),
  );
  return same ? { ...same, usd } : {};
}

function money(usd: string | undefined): Html {
  const nanoUsd = usd === undefined ? undefined : parseDecimal(usd);
  return nanoUsd === undefined ? DASH : renderUsd(nanoUsd);
}

function momentOf(time: string | undefined): Html {
  const ms = time === undefined ? NaN : Date.parse(time);
  return Number.isNaN(ms) ? DASH : renderTime(ms, 'minute');
}
