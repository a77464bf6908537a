/** Builds the ManifestSource through which the console edits manifests, from the parts of a running operator. */
import type { FilesProvider } from '../../operator/sources/folder/provider.ts';
import type { TimerClock } from '#runtime/clock.ts';
import type { MintedSecrets } from '../../operator/reconcile/minted-secrets.ts';
import { objectId } from '#objects/resources.ts';
import type { Controller } from '../../operator/reconcile/controller.ts';
import type { ManifestSource } from '../../console/access/files/source.ts';

interface SourceParts {
  readonly folder: string;
  readonly gatewayNamespace: string;
  readonly provider: FilesProvider;
  readonly minted: MintedSecrets;
  readonly controller: Controller;
  readonly clock: TimerClock;
  /** Reads the spending from the ledger into the statuses. */
  readonly readSpending: () => Promise<void>;
}

/** Spending that was read within this time is shown without reading the ledger again. */
const FRESH_MS = 1_000;
/** A page waits at most this long for a read, which takes longer with many keys, and then shows the last figures. */
const MAX_WAIT_MS = 80;

export function createManifestSource(parts: SourceParts): ManifestSource {
  const { folder, gatewayNamespace, provider, minted, controller } = parts;
  return {
    folder,
    gatewayNamespace,
    get resources() {
      return provider.resources;
    },
    get origins() {
      return provider.origins;
    },
    get files() {
      return provider.files;
    },
    get diagnostics() {
      return provider.diagnostics;
    },
    async refresh(options) {
      await provider.refresh(options);
      await controller.settled();
    },
    statusOf: (object) => controller.status(objectId(object.kind, object))?.status,
    readSpending: freshSpending(parts),
    secretOf: (ref) => minted.find(ref, provider.resources),
    async discardSecret(ref) {
      await minted.discard(ref);
      controller.resourcesChanged();
    },
  };
}

function freshSpending({ clock, readSpending }: SourceParts): () => Promise<void> {
  let readMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  return async () => {
    if (clock.nowMs() - readMs < FRESH_MS) return;
    const first = readMs === Number.NEGATIVE_INFINITY;
    reading ??= readSpending()
      .then(() => {
        readMs = clock.nowMs();
      })
      .finally(() => {
        reading = undefined;
      });
    if (first) await reading;
    else
      await Promise.race([
        reading,
        new Promise<void>((resolve) => {
          clock.after(MAX_WAIT_MS, resolve);
        }),
      ]);
  };
}
