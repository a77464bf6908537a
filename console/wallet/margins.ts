/** What calls cost the platform, which only people of the platform see. */
import { marginNanoUsd } from '#usage/csv.ts';
import type { UsageRecord } from '#usage/record.ts';
import { renderUsd } from '#web/format.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { PageRequest } from '../route.ts';

/**
 * True if a channel of the gateway states its cost, and the person may list ModelRoutes of the gateway's namespace.
 * Tenants and holders of keys may not.
 */
export async function seesMargins({ person, deps }: Pick<PageRequest, 'person' | 'deps'>): Promise<boolean> {
  const { gatewayNamespace: namespace, resources } = deps;
  if (person.ownKey) return false;
  const isStated = resources().modelRoutes.some(
    ({ metadata, spec }) => metadata.namespace === namespace && spec.channels.some(({ cost }) => cost !== undefined),
  );
  return isStated && (await person.may('list', 'ModelRoute', { namespace }));
}

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

const UNKNOWN = html`<span class="soft">unknown</span>`;
