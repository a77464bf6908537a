/** Builds the ManifestSource through which the console edits manifests, from the parts of a running operator. */
import type { FilesProvider } from '../../operator/sources/folder/provider.ts';
import type { TimerClock } from '#runtime/clock.ts';
import type { MintedSecrets } from '../../operator/reconcile/minted-secrets.ts';
import { objectId } from '#objects/resources.ts';
import type { StatusTracker } from '../../operator/reconcile/status-tracker.ts';
import type { ManifestSource } from '../../console/access/files/source.ts';

interface SourceParts {
  readonly folder: string;
  readonly gatewayNamespace: string;
  readonly provider: FilesProvider;
  readonly minted: MintedSecrets;
  readonly tracker: StatusTracker;
  readonly clock: TimerClock;
  /** Reads the spending from the ledger and records it in the tracker. */
  readonly updateSpending: () => Promise<void>;
  /** Called when the Secret of a generated key has been deleted. */
  readonly onKeysChanged: () => void;
  /** Resolves when the controller has published or refused what the provider has read. */
  readonly settled: () => Promise<void>;
}

/** Spending that was read within this time is shown without reading the ledger again. */
const FRESH_MS = 1_000;
/** A page waits at most this long for a read, which takes longer with many keys, and then shows the last figures. */
const MAX_WAIT_MS = 80;

export function createManifestSource(parts: SourceParts): ManifestSource {
  const { folder, gatewayNamespace, provider, minted, tracker } = parts;
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
      await parts.settled();
    },
    statusOf: (object) => tracker.get(objectId(object.kind, object))?.status,
    readSpending: freshSpending(parts),
    secretOf: (ref) => minted.find(ref, provider.resources),
    async discardSecret(ref) {
      await minted.discard(ref);
      parts.onKeysChanged();
    },
  };
}

function freshSpending({ clock, updateSpending }: SourceParts): () => Promise<void> {
  let readMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  return async () => {
    if (clock.nowMs() - readMs < FRESH_MS) return;
    const first = readMs === Number.NEGATIVE_INFINITY;
    reading ??= updateSpending()
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
