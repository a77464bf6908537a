/** Reads what a preview shows: the price list before and after, and the calls of the last days by both. */
import type { Json } from '#crds/json.ts';
import type { Html } from '#web/html.ts';
import { groupNames } from '../../queries/names.ts';
import { NO_FILTER } from '../../queries/usage-query.ts';
import { callQueryOf, readScope } from '../../queries/usage-scope.ts';
import type { PageRequest } from '../../route.ts';
import { diffOfCalls } from '../compute-change.ts';
import type { TranslatedEdits } from '../compute-change.ts';
import { changedValues } from './edited-object.ts';
import type { Patch } from './edited-object.ts';
import { priceDifferences } from './price-differences.ts';
import { renderPreview } from './preview.ts';

const DAYS = 7;
const DAY_MS = 86_400_000;

interface Compared {
  readonly before: Json;
  readonly after: Json;
  readonly patches: readonly Patch[];
}

/** The calls are those that the person may see, of the last days. */
export async function previewOf(
  request: Pick<PageRequest, 'deps' | 'person' | 'nowMs' | 'gone'>,
  edits: TranslatedEdits,
  { before, after, patches }: Compared,
): Promise<Html> {
  const { deps, nowMs, gone } = request;
  const common = {
    values: changedValues(before, after),
    prices: priceDifferences(edits),
    remarks: edits.remarks,
    patches,
  };
  if (!deps.usage) return renderPreview({ ...common, money: undefined });
  const scope = await readScope(request);
  const calls = deps.usage.records(
    callQueryOf(scope, { ...NO_FILTER, sinceMs: nowMs - DAYS * DAY_MS, untilMs: nowMs }),
  );
  const diff = await diffOfCalls(edits, calls, { nextTurn: deps.nextTurn, resources: deps.resources(), gone });
  return renderPreview({ ...common, money: { diff, names: { scope, groups: groupNames(deps) }, days: DAYS } });
}
