/** [P] What a call cost the platform, and what it earned. */
import { marginNanoUsd } from '#usage/csv.ts';
import type { UsageRecord } from '#usage/record.ts';
import { renderUsd } from '#web/format.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';

/** What the call cost on its channel. */
export function renderUpstreamCost({ upstreamCostNanoUsd }: UsageRecord): Html {
  return upstreamCostNanoUsd === undefined ? UNKNOWN : renderUsd(upstreamCostNanoUsd, 6);
}

/** What was billed less what the call cost. */
export function renderMargin(call: UsageRecord): Html {
  const margin = marginNanoUsd(call);
  if (margin === undefined) return UNKNOWN;
  return renderUsd(margin, 6);
}

export const UNKNOWN = html`<span class="soft">unknown</span>`;
