/** [P] What an edit changes, before it is saved: values, the price list, and what the calls of the last days cost. */
import { html, NOTHING, preformatted } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { formatCount } from '#web/format.ts';
import type { CatalogDiff } from '#usage/catalog-diff.ts';
import { notice } from '../../components/notice.ts';
import { section } from '../../components/page.ts';
import { table } from '../../components/table.ts';
import type { Names } from '../../queries/names.ts';
import { renderPriceChange } from '../price-change-view.ts';
import type { ChangedValue, Patch } from './edited-object.ts';
import type { PriceDifference } from './price-differences.ts';

export interface Preview {
  readonly values: readonly ChangedValue[];
  readonly prices: readonly PriceDifference[];
  readonly remarks: readonly string[];
  readonly patches: readonly Patch[];
  /** undefined: the ledger's records cannot be read here. */
  readonly money: { readonly diff: CatalogDiff; readonly names: Names; readonly days: number } | undefined;
}

const MAX_ROWS = 50;

export function renderPreview(preview: Preview): Html {
  const { values, prices, remarks, patches, money } = preview;
  if (values.length === 0)
    return section({ id: 'preview', title: 'Preview' }, html`<p class="none">Nothing changes.</p>`);
  return html`${section(
    { id: 'preview', title: 'Preview' },
    html`${remarks.map((remark) => notice(remark, { tone: 'warn' }))}
    ${table<ChangedValue>(
      [
        { title: 'Field', style: 'wrap', cell: ({ path }) => html`<code>${path}</code>` },
        { title: 'Now', style: 'wrap', cell: ({ was }) => was ?? '—' },
        { title: 'After', style: 'wrap', cell: ({ becomes }) => becomes ?? '—' },
      ],
      values,
      { label: 'Changed fields', caption: 'Changed fields', cards: true },
    )}`,
  )}
  ${renderPrices(prices)}
  ${money ? renderPriceChange({ diff: money.diff, remarks: [] }, money.names, money.days) : NOTHING}
  ${patches.map((patch, index) => renderPatch(patch, index))}`;
}

function renderPrices(prices: readonly PriceDifference[]): Html {
  if (prices.length === 0)
    return section({ id: 'prices', title: 'Price list' }, html`<p class="none">The price list stays as it is.</p>`);
  const more =
    prices.length > MAX_ROWS
      ? html`<p class="soft">The first ${MAX_ROWS} of ${formatCount(prices.length)} prices.</p>`
      : NOTHING;
  return section(
    { id: 'prices', title: 'Price list' },
    html`${table<PriceDifference>(
        [
          { title: 'Group', cell: ({ group }) => html`<bdi>${group}</bdi>` },
          { title: 'Model', cell: ({ model }) => html`<bdi>${model}</bdi>` },
          { title: 'Now', style: 'wrap', cell: ({ was }) => was ?? 'Not offered' },
          { title: 'After', style: 'wrap', cell: ({ becomes }) => becomes ?? 'Not offered' },
        ],
        prices.slice(0, MAX_ROWS),
        { labelledBy: 'prices', cards: true },
      )}
      ${more}
      <p class="hint">Tokens: dollars per million.</p>`,
  );
}

function renderPatch({ object, text, fileName, command }: Patch, index: number): Html {
  const id = `patch-${index}`;
  return section(
    {
      id: `${id}-title`,
      title: html`Copy as patch: <bdi>${object}</bdi>`,
      beside: html`<button type="button" class="button small" data-copy="${id}" hidden>
        Copy<span class="vh"> ${fileName}</span>
      </button>`,
    },
    html`<p>For a repository: save it as <code>${fileName}</code>. <code>${command}</code> applies it.</p>
      <pre
        class="code"
        tabindex="0"
        role="region"
        aria-label="${fileName} of ${object}"
      ><code id="${id}">${preformatted(text)}</code></pre>`,
  );
}
