/** [P] Computes what the calls of the last days would have cost by an edited PriceCatalog. */
import type { Group, ModelRoute, PriceCatalog } from '#crds/types.gen.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import type { UsageRecord } from '#usage/record.ts';
import { catalogsOf, diffCatalogs } from '#usage/catalog-diff.ts';
import type { CatalogDiff } from '#usage/catalog-diff.ts';
import { allOf, groupsOfKeys, withoutTenants } from '#objects/resources.ts';
import type { Resources } from '#objects/resources.ts';
import type { ConsoleDeps } from '../route.ts';

/** An edited catalog, or every mistake in its manifest. */
type Edit = { readonly catalog: PriceCatalog } | { readonly mistakes: readonly string[] };

export interface PriceChange {
  readonly diff: CatalogDiff;
  /** What the gateway would report about the catalog although it accepts it. */
  readonly remarks: readonly string[];
}

type EditContext = Pick<ConsoleDeps, 'loadManifests' | 'gatewayNamespace'>;

/** Parses the manifest and checks it as the API server would. */
export async function readEdit(text: string, { loadManifests, gatewayNamespace }: EditContext): Promise<Edit> {
  const loaded = loadManifests(text);
  const faults = await loaded.diagnose();
  if (faults.length > 0)
    return {
      mistakes: faults.map(({ line, path, message }) =>
        [...(line > 0 ? [`Line ${line}`] : []), ...(path === '' ? [] : [path]), message].join(': '),
      ),
    };
  const [catalog, ...more] = loaded.resources.priceCatalogs;
  if (!catalog || more.length > 0 || loaded.origins.size > 1)
    return { mistakes: ['The text must be the manifest of one PriceCatalog.'] };
  const { namespace } = catalog.metadata;
  if (namespace !== gatewayNamespace)
    return {
      mistakes: [`This gateway reads catalogs in the namespace ${gatewayNamespace} only, not in ${namespace}.`],
    };
  if (catalog.spec.purpose === 'Costs') return { mistakes: ['A catalog of costs changes no bill.'] };
  return { catalog };
}

/** An object that an edit changes or adds. */
export type EditedObject = Group | ModelRoute | PriceCatalog;

interface EditsContext extends Pick<ConsoleDeps, 'gatewayNamespace' | 'translator'> {
  /** As they are now. */
  readonly resources: Resources;
  readonly nowMs: number;
}

/** What the gateway's configuration is now, and what it would be. */
export interface TranslatedEdits {
  readonly old: Snapshot;
  readonly next: Snapshot;
  /** What the gateway would report about the objects although it accepts them. */
  readonly remarks: readonly string[];
}

/** Translates the resources with and without the edits. Mistakes: why the gateway would not accept them. */
export function translateEdits(
  edits: readonly EditedObject[],
  { resources, gatewayNamespace, translator, nowMs }: EditsContext,
): TranslatedEdits | { readonly mistakes: readonly string[] } {
  const options = { gatewayNamespace, nowMs };
  const now = withoutTenants(resources);
  const { snapshot: old } = translator.translate(now, options);
  const { snapshot: next, statuses } = translator.translate(edits.reduce(withEdit, now), options);
  const findings = statuses.filter(({ kind, name }) =>
    edits.some((edited) => edited.kind === kind && edited.metadata.name === name),
  );
  const mistakes = findings.flatMap(({ kind, name, refused }) =>
    refused ? [`The gateway would refuse ${kind} ${name}: ${refused.message}`] : [],
  );
  if (mistakes.length > 0) return { mistakes };
  const remarks = findings.flatMap(({ remark, notReady }) =>
    [remark, notReady].flatMap((finding) => finding?.message ?? []),
  );
  return { old, next, remarks };
}

interface CallsContext extends Pick<ConsoleDeps, 'nextTurn'> {
  readonly resources: Pick<Resources, 'apiKeys'>;
  /** Aborts when nobody waits for the result any more. */
  readonly gone: AbortSignal;
}

/** What the calls would have cost by the next configuration, beside what they cost by the old one. */
export async function diffOfCalls(
  { old, next }: TranslatedEdits,
  calls: AsyncIterable<UsageRecord>,
  context: CallsContext,
): Promise<CatalogDiff> {
  const groupOfKey = groupsOfKeys(allOf(context.resources.apiKeys));
  return diffCatalogs(catalogsOf(old, next, groupOfKey), catalogsOf(next, old, groupOfKey), inTurns(calls, context));
}

/** Prices the calls by the catalogs in force and by those with the edit. Mistakes: why the gateway would refuse it. */
export async function priceChange(
  catalog: PriceCatalog,
  calls: AsyncIterable<UsageRecord>,
  context: EditsContext & CallsContext,
): Promise<PriceChange | { readonly mistakes: readonly string[] }> {
  const edits = translateEdits([catalog], context);
  if ('mistakes' in edits) return edits;
  return { diff: await diffOfCalls(edits, calls, context), remarks: edits.remarks };
}

/** An edit keeps the identity of the object that it replaces: if two catalogs conflict, the older one wins. */
function withEdit(resources: Resources, edited: EditedObject): Resources {
  switch (edited.kind) {
    case 'Group':
      return { ...resources, groups: replaced(resources.groups, edited) };
    case 'ModelRoute':
      return { ...resources, modelRoutes: replaced(resources.modelRoutes, edited) };
    case 'PriceCatalog':
      return { ...resources, priceCatalogs: replaced(resources.priceCatalogs, edited) };
  }
}

function replaced<O extends EditedObject>(objects: readonly O[], edited: O): O[] {
  const { name, namespace } = edited.metadata;
  const current = objects.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  const object = { ...edited, metadata: { ...edited.metadata, ...current?.metadata } };
  return [...objects.filter((each) => each !== current), object];
}

const CALLS_PER_TURN = 200;

/** Lets the process do other work between the calls, and ends early when nobody waits any more. */
async function* inTurns<Item>(
  items: AsyncIterable<Item>,
  { nextTurn, gone }: Pick<CallsContext, 'nextTurn' | 'gone'>,
): AsyncGenerator<Item> {
  let count = 0;
  for await (const item of items) {
    if (++count % CALLS_PER_TURN === 0) await nextTurn();
    if (gone.aborted) return;
    yield item;
  }
}
