/** [P] Computes what the calls of the last days would have cost by an edited PriceCatalog. */
import type { PriceCatalog } from '#crds/types.gen.ts';
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

interface ChangeContext extends Pick<ConsoleDeps, 'gatewayNamespace' | 'nextTurn' | 'translator'> {
  /** As they are now. */
  readonly resources: Resources;
  readonly nowMs: number;
  /** Aborts when nobody waits for the result any more. */
  readonly gone: AbortSignal;
}

/** Prices the calls by the catalogs in force and by those with the edit. Mistakes: why the gateway would refuse it. */
export async function priceChange(
  catalog: PriceCatalog,
  calls: AsyncIterable<UsageRecord>,
  context: ChangeContext,
): Promise<PriceChange | { readonly mistakes: readonly string[] }> {
  const { resources, gatewayNamespace, translator, nowMs } = context;
  const options = { gatewayNamespace, nowMs };
  const now = withoutTenants(resources);
  const { snapshot: old } = translator.translate(now, options);
  const { snapshot: next, statuses } = translator.translate(withEdit(now, catalog), options);
  const findings = statuses.find(({ kind, name }) => kind === 'PriceCatalog' && name === catalog.metadata.name);
  if (findings?.refused) return { mistakes: [`The gateway would refuse this catalog: ${findings.refused.message}`] };
  const groupOfKey = groupsOfKeys(allOf(resources.apiKeys));
  const diff = await diffCatalogs(
    catalogsOf(old, next, groupOfKey),
    catalogsOf(next, old, groupOfKey),
    inTurns(calls, context),
  );
  return { diff, remarks: [findings?.remark, findings?.notReady].flatMap((finding) => finding?.message ?? []) };
}

/** The edit keeps the identity of the catalog that it replaces: if two catalogs conflict, the older one wins. */
function withEdit(resources: Resources, catalog: PriceCatalog): Resources {
  const { priceCatalogs } = resources;
  const { name, namespace } = catalog.metadata;
  const current = priceCatalogs.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  const edited = { ...catalog, metadata: { ...catalog.metadata, ...current?.metadata } };
  return { ...resources, priceCatalogs: [...priceCatalogs.filter((each) => each !== current), edited] };
}

const CALLS_PER_TURN = 200;

/** Lets the process do other work between the calls, and ends early when nobody waits any more. */
async function* inTurns<Item>(
  items: AsyncIterable<Item>,
  { nextTurn, gone }: Pick<ChangeContext, 'nextTurn' | 'gone'>,
): AsyncGenerator<Item> {
  let count = 0;
  for await (const item of items) {
    if (++count % CALLS_PER_TURN === 0) await nextTurn();
    if (gone.aborted) return;
    yield item;
  }
}
