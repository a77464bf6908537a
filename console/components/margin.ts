/** [P] What a call cost the platform, and what it earned. */
import type { UsageRecord } from '#usage/record.ts';
import { renderUsd } from '#web/format.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';

/** What the call cost on its channel. */
export function renderUpstreamCost(call: UsageRecord): Html {
  const cost = upstreamCost(call);
  return cost === undefined ? UNKNOWN : renderUsd(cost, 6);
}

/** What was billed less what the call cost. */
export function renderMargin(call: UsageRecord): Html {
  const cost = upstreamCost(call);
  return cost === undefined ? UNKNOWN : renderUsd(call.costNanoUsd - cost, 6);
}

/** As sums of margins have it: a call that failed before it was billed cost nothing. undefined: it is not known. */
function upstreamCost({ upstreamCostNanoUsd, status, costNanoUsd }: UsageRecord): bigint | undefined {
  return upstreamCostNanoUsd ?? (status === 'Failed' && costNanoUsd === 0n ? 0n : undefined);
}

export const UNKNOWN = html`<span class="soft">unknown</span>`;
