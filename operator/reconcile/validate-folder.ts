/**
 * Reports what the API server and the operator would say about a folder of manifests, without either: for `mgw
 * validate`. Most Secrets are kept outside of a repository, so a missing one is a warning; everything else that keeps
 * an object from working as specified is an error.
 */
import { loadApiKinds } from '#crds/load.ts';
import type { Reason } from '#crds/conditions.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { validateSnapshot } from '#snapshot/validate.ts';
import { countGenerations } from '#manifests/generations.ts';
import { createLoader } from '#manifests/load-folder.ts';
import type { LoadedFolder } from '#manifests/load-folder.ts';
import { InvalidManifests, compareDiagnostics } from '#manifests/diagnostic.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import { folderWarnings, readFolder } from '../sources/folder/provider.ts';
import type { Finding, Findings } from '../status/findings.ts';
import { allOf, objectId } from '#objects/resources.ts';
import { misplacedPrices } from '../translate/misplaced-prices.ts';
import { translate } from '../translate/translate.ts';
import { unpricedWays } from '../translate/unpriced-ways.ts';
import type { UnpricedWays } from '../translate/unpriced-ways.ts';

interface ValidateOptions {
  readonly gatewayNamespace: string;
  /** The time for expirations; default: now. */
  readonly nowMs?: number;
}

/** Reasons that are no mistakes of the manifests: a Secret from elsewhere, or an owner's intention. */
const WARNINGS: ReadonlySet<Reason> = new Set<Reason>([
  'SecretNotFound',
  'SecretPending',
  'PriceNotFound',
  'CatalogNotFound',
  'ChannelNotFound',
  'AllChannelsDrained',
  'Expired',
  'LimitsDiffer',
]);
const SILENT: ReadonlySet<Reason> = new Set<Reason>(['Disabled']);
/** Reasons that do not depend on other manifests; all others may only follow from mistakes there. */
const OWN_FAULTS: ReadonlySet<Reason> = new Set<Reason>(['Invalid', 'WrongNamespace', 'Conflicted', 'WeakKey']);

/**
 * What the routes of a folder refuse for lack of a price. In a folder with mistakes, only valid objects are considered.
 */
export async function findUnpricedWays(
  folder: string,
  { gatewayNamespace, nowMs = Date.now() }: ValidateOptions,
): Promise<readonly UnpricedWays[]> {
  const { files } = await readFolder(folder);
  const load = createLoader({ kinds: await loadApiKinds(), defaultNamespace: gatewayNamespace }, countGenerations(0));
  return unpricedWays(translate(load([...files.values()]).resources, { gatewayNamespace, nowMs }).snapshot);
}

/**
 * The snapshot that a folder would give the proxies, and a message for each channel that is left out because its
 * Secret is missing. Throws InvalidManifests.
 */
export async function readSnapshot(
  folder: string,
  { gatewayNamespace, nowMs = Date.now() }: ValidateOptions,
): Promise<{ readonly snapshot: Snapshot; readonly unresolved: readonly string[] }> {
  const { files } = await readFolder(folder);
  const load = createLoader({ kinds: await loadApiKinds(), defaultNamespace: gatewayNamespace }, countGenerations(0));
  const { snapshot, statuses } = translate(load([...files.values()]).resources, { gatewayNamespace, nowMs });
  const unresolved = statuses.flatMap(({ name, unresolved: missing }) =>
    missing ? [`ModelRoute ${name}: ${missing.message}`] : [],
  );
  return { snapshot, unresolved };
}

/** The mistakes that keep a folder from being put in force. Missing references are none of them. */
export async function findMistakes(
  folder: string,
  { gatewayNamespace }: ValidateOptions,
): Promise<readonly Diagnostic[]> {
  const { files } = await readFolder(folder);
  const load = createLoader({ kinds: await loadApiKinds(), defaultNamespace: gatewayNamespace }, countGenerations(0));
  return load([...files.values()]).diagnose();
}

/** Every mistake in a folder, sorted by position. If none has severity Error, the folder can be applied. */
export async function validateFolder(
  folder: string,
  { gatewayNamespace, nowMs = Date.now() }: ValidateOptions,
): Promise<readonly Diagnostic[]> {
  try {
    const { files } = await readFolder(folder);
    const load = createLoader({ kinds: await loadApiKinds(), defaultNamespace: gatewayNamespace }, countGenerations(0));
    const loaded = load([...files.values()]);
    return [
      ...(await loaded.diagnose()),
      ...folderWarnings(folder, loaded),
      ...judge(loaded, { gatewayNamespace, nowMs }, folder),
    ].sort(compareDiagnostics);
  } catch (error) {
    if (error instanceof InvalidManifests) return error.diagnostics;
    throw error;
  }
}

function judge(
  { resources, origins, isValid }: LoadedFolder,
  options: Required<ValidateOptions>,
  folder: string,
): Diagnostic[] {
  const { snapshot, statuses } = translate(resources, options);
  const generated = new Set(
    allOf(resources.apiKeys)
      .filter(({ spec }) => spec.key.type === 'Generated')
      .map(({ kind, metadata }) => objectId(kind, metadata)),
  );
  const faulty = !isValid;
  const place = (object: string, message: string, severity: Diagnostic['severity']): Diagnostic => ({
    severity,
    ...(origins.get(object) ?? { file: folder, line: 0 }),
    object,
    path: '',
    message,
  });

  const said = statuses.flatMap((findings) => {
    const object = objectId(findings.kind, findings);
    return againstObject(findings)
      .filter(({ reason }) => !faulty || OWN_FAULTS.has(reason))
      .filter(({ reason }) => reason !== 'SecretPending' || !generated.has(object)) // the operator will create it
      .map(({ reason, message }) => place(object, message, WARNINGS.has(reason) ? 'Warning' : 'Error'));
  });
  return [
    ...said,
    ...validateSnapshot(snapshot).map((fault) => place(objectId(fault.kind, fault), fault.message, 'Error')),
    ...misplacedPrices(snapshot).map((price) => place(objectId(price.kind, price), price.message, 'Warning')),
  ];
}

/** What a status would report against an object, each fact once. */
function againstObject({
  refused,
  unresolved,
  notReady,
  remark,
  allDrained,
  unpriced,
  limitsDiffer,
}: Findings): Finding[] {
  const all = [refused, unresolved, notReady, remark, allDrained, unpriced, limitsDiffer].filter(
    (finding) => finding !== undefined,
  );
  const once = new Map(all.toReversed().map((finding) => [finding.message, finding]));
  return [...once.values()].toReversed().filter(({ reason }) => !SILENT.has(reason));
}
