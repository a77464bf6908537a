/**
 * Composes the operator for a single machine: a watched folder of manifests, the data folder's generated keys, and the
 * controller that makes snapshots and statuses of both.
 */
import type { Logger } from 'pino';
import { loadApiKinds } from '#crds/load.ts';
import type { LedgerReader } from '#ledger/spending.ts';
import type { ApplyResult, SnapshotFault } from '#snapshot/faults.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { createManifestSource } from './manifest-source.ts';
import type { ManifestSource } from '../../console/access/files/source.ts';
import { SYSTEM_CLOCK } from '#runtime/clock.ts';
import type { TimerClock } from '#runtime/clock.ts';
import { countGenerations } from '#manifests/generations.ts';
import { openGatewayKey } from '../../operator/security/folder-gateway-key.ts';
import { createLoader } from '#manifests/load-folder.ts';
import type { Origin } from '#manifests/load-folder.ts';
import { InvalidManifests } from '#manifests/diagnostic.ts';
import type { Diagnostic } from '#manifests/diagnostic.ts';
import { provideFolder } from '../../operator/sources/folder/provider.ts';
import type { FilesProvider } from '../../operator/sources/folder/provider.ts';
import { watchFolder } from '../../operator/sources/folder/watch-folder.ts';
import { Controller } from '../../operator/reconcile/controller.ts';
import { createOneProxy } from '../../operator/reconcile/one-proxy.ts';
import type { MintedKey } from '../../operator/reconcile/mint-keys.ts';
import { openMintedSecrets } from '../../operator/reconcile/minted-secrets.ts';
import type { MintedSecrets } from '../../operator/reconcile/minted-secrets.ts';
import { GRACE_MS, releaseKeys } from '../../operator/reconcile/release-keys.ts';
import type { ReleasedKey } from '../../operator/reconcile/release-keys.ts';
import { objectId } from '#objects/resources.ts';
import type { ObjectStatus } from '../../operator/reconcile/status-tracker.ts';
import type { UpstreamRefusal } from '../../operator/status/refusals.ts';
import { deriveKey } from '../../operator/security/gateway-key.ts';
import type { Resources } from '#objects/resources.ts';

export interface OperatorOptions {
  /** The folder of manifests. */
  readonly configDir: string;
  /** The folder of generated keys, in secrets/<namespace>/<secret>.yaml. */
  readonly dataDir: string;
  /** The namespace of Groups, ModelRoutes and PriceCatalogs, and of objects that name none. */
  readonly gatewayNamespace: string;
  /** The labels that usage records carry; absent: none. */
  readonly usageLabels?: readonly string[] | undefined;
  /** Puts a snapshot in force as a whole, or refuses it. */
  readonly publish: (snapshot: Snapshot) => ApplyResult | Promise<ApplyResult>;
  /** May still be opening. Without a ledger, statuses contain no spending. */
  readonly ledger?: LedgerReader | Promise<LedgerReader>;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Called once for each generated key. */
  readonly onMinted: (minted: MintedKey) => void;
  /** Called for each edit with mistakes, and with an empty list when all are corrected. */
  readonly onProblems: (problems: readonly Diagnostic[]) => void;
  /** Called for what is left out of the folder, and if there is nothing. */
  readonly onWarnings?: ((warnings: readonly Diagnostic[]) => void) | undefined;
  readonly clock?: TimerClock;
}

/** What has changed: statuses by "Kind namespace/name", undefined for an object that is gone. */
export type StatusChanges = ReadonlyMap<string, ObjectStatus | undefined>;

export interface Operator {
  /** The current statuses of all objects with spending, without secrets. */
  statuses(): Promise<readonly ObjectStatus[]>;
  /** The statuses as last computed, without any read. */
  lastStatuses(): readonly ObjectStatus[];
  /**
   * What has changed since the last call, with spending read again. It costs little if little has changed, however many
   * objects there are.
   */
  statusChanges(): Promise<StatusChanges>;
  /**
   * Reports that a provider refused the credential or a model name of a ModelRoute's channel, or cannot be reached. The
   * status shows it until some time after the last report.
   */
  upstreamRefused(refusal: UpstreamRefusal): void;
  /** The folder for parts that change it, with its objects' statuses. */
  readonly manifests: ManifestSource;
  stop(): Promise<void>;
}

const DEBOUNCE_MS = 20;
const RELEASE_AGAIN_MS = 10_000;
/** There may be a file for each of ten thousand keys, and few are ever changed, so scans are rare. */
const MINTED_RESCAN_SHARE = 100;

/**
 * Resolves when the first snapshot is in force. Rejects with InvalidManifests if the folder has mistakes or the
 * snapshot is refused.
 */
export async function startOperator(options: OperatorOptions): Promise<Operator> {
  const { gatewayNamespace, clock = SYSTEM_CLOCK } = options;
  const kinds = await loadApiKinds();
  const load = createLoader({ kinds, defaultNamespace: gatewayNamespace }, countGenerations(clock.nowMs()));
  let controller: Controller | undefined;
  const provider = await provideFolder({
    folder: options.configDir,
    load,
    kinds,
    ...(options.onWarnings && { onWarnings: options.onWarnings }),
    onProblems: options.onProblems,
    onResources: () => controller?.resourcesChanged(),
  });
  try {
    const minted = await openMintedSecrets(options.dataDir);
    const sealingKey = deriveKey(await openGatewayKey(options.dataDir), 'sealing').toString('base64');
    const started = { ...options, clock, provider, minted, sealingKey };
    return await startController(started, (created) => {
      controller = created;
    });
  } catch (error) {
    await provider.stop();
    throw error;
  }
}

interface Started extends OperatorOptions {
  readonly clock: TimerClock;
  readonly provider: FilesProvider;
  readonly minted: MintedSecrets;
  /** 32 bytes in Base64. */
  readonly sealingKey: string;
}

async function startController(options: Started, onCreated: (controller: Controller) => void): Promise<Operator> {
  const { gatewayNamespace, clock, log, ledger, provider, minted, configDir } = options;
  const changed = new Set<string>();
  let rejected: readonly SnapshotFault[] = [];
  let started = false;
  const controller: Controller = new Controller({
    gatewayNamespace,
    source: { resources: () => provider.resources },
    proxies: createOneProxy({ apply: options.publish, onProgress: (ids) => controller.progressed(ids) }),
    keys: minted,
    keysFirst: true,
    releaseKeys: (resources, nowMs) => releaseOrLog(options, resources, nowMs),
    onMinted: guarded(options),
    statuses: { start: () => undefined, stop: () => Promise.resolve(), changed: (id) => void changed.add(id) },
    onFaults(faults) {
      rejected = faults;
      if (started) options.onProblems(placeFaults(faults, configDir, provider.origins));
    },
    clock,
    log,
    debounceMs: DEBOUNCE_MS,
    settleMs: 0,
    sealingKeys: [options.sealingKey],
    usageLabels: options.usageLabels,
  });
  onCreated(controller);
  await controller.lead(true);
  await controller.start();
  if (rejected.length > 0) {
    await controller.stop();
    throw new InvalidManifests(placeFaults(rejected, configDir, provider.origins));
  }
  started = true;
  const watch = watchMinted(minted, controller, log);
  const readSpending = async (): Promise<void> => ledger && controller.readSpending(await ledger);
  return {
    async statuses() {
      await readSpending();
      return controller.statuses();
    },
    lastStatuses: () => controller.statuses(),
    async statusChanges() {
      await readSpending();
      const changes = new Map([...changed].map((id) => [id, controller.status(id)]));
      changed.clear();
      return changes;
    },
    manifests: createManifestSource({
      folder: configDir,
      gatewayNamespace,
      provider,
      minted,
      controller,
      clock,
      readSpending,
    }),
    upstreamRefused: (refusal) => controller.refused(refusal),
    async stop() {
      await provider.stop();
      await watch.stop();
      await controller.stop();
    },
  };
}

/** Resolves with when to call it again. A failure is only logged: the keys are refused in any case. */
async function releaseOrLog(
  { minted, log }: Started,
  resources: Resources,
  nowMs: number,
): Promise<number | undefined> {
  const onChange = ({ apiKey, state }: ReleasedKey): void =>
    log.info({ object: `ApiKey ${apiKey}` }, RELEASE_MESSAGES[state]);
  try {
    return await releaseKeys(resources, nowMs, { minted, onChange });
  } catch (error) {
    log.error({ err: error }, 'cannot delete the key files of deleted ApiKeys; the keys are refused nevertheless');
    return nowMs + RELEASE_AGAIN_MS;
  }
}

const RELEASE_MESSAGES: Readonly<Record<ReleasedKey['state'], string>> = {
  Released:
    `the ApiKey was deleted: its key is refused, and its key file is deleted in ${GRACE_MS / 60_000} minutes ` +
    'unless the ApiKey is created again',
  Kept: 'the ApiKey was created again before its key file was deleted: the key is valid again',
  Deleted: 'deleted the key file of the deleted ApiKey',
};

/** Logs an error of onMinted, after which the key still exists in its file. */
function guarded({ onMinted, log }: OperatorOptions): (minted: MintedKey) => void {
  return (minted) => {
    try {
      onMinted(minted);
    } catch {
      const object = `ApiKey ${minted.namespace}/${minted.name}`;
      log.error({ object }, 'a new key could not be printed; it is in its file');
    }
  };
}

/** Creates another key when a file is deleted. */
function watchMinted(
  minted: MintedSecrets,
  controller: Controller,
  log: OperatorOptions['log'],
): { stop(): Promise<void> } {
  return watchFolder({
    folder: minted.folder,
    rescanShare: MINTED_RESCAN_SHARE,
    async onChange() {
      try {
        if (await minted.reload()) controller.resourcesChanged();
      } catch (error) {
        log.error({ err: error }, 'cannot read the generated keys again; the known keys stay valid');
      }
    },
    onUnreadable: (error) =>
      error === undefined ? undefined : log.error({ err: error }, 'cannot watch the folder of generated keys'),
  });
}

function placeFaults(
  faults: readonly SnapshotFault[],
  folder: string,
  origins: ReadonlyMap<string, Origin>,
): Diagnostic[] {
  return faults.map((fault) => {
    const object = objectId(fault.kind, fault);
    const { file, line } = origins.get(object) ?? { file: folder, line: 0 };
    return { severity: 'Error', file, line, object, path: '', message: `rejected by the proxy: ${fault.message}` };
  });
}
