/** The operator's own parts as a ManifestSource. */
import type { FilesProvider } from '../../../operator/files/provider.ts';
import type { TimerClock } from '../../../operator/clock.ts';
import type { MintedSecrets } from '../../../operator/reconcile/minted-secrets.ts';
import { statusId } from '../../../operator/reconcile/status-tracker.ts';
import type { StatusTracker } from '../../../operator/reconcile/status-tracker.ts';
import type { ManifestSource } from './source.ts';

interface SourceParts {
  readonly folder: string;
  readonly gatewayNamespace: string;
  readonly provider: FilesProvider;
  readonly minted: MintedSecrets;
  readonly tracker: StatusTracker;
  readonly clock: TimerClock;
  /** Reads the ledger and enters what it says into the tracker. */
  readonly updateSpending: () => Promise<void>;
  /** Told that a generated key is gone. */
  readonly onKeysChanged: () => void;
  /** Resolves when what was read is in force, or was refused. */
  readonly settled: () => Promise<void>;
}

/** Statuses with spending that is no older than this are good enough for a page … */
const FRESH_MS = 1_000;
/**
 * … which waits no longer than this for newer ones: ten thousand keys take a moment, and their last figures are there.
 */
const MOST_WAIT_MS = 80;

export function createManifestSource(parts: SourceParts): ManifestSource {
  const { folder, gatewayNamespace, provider, minted, tracker } = parts;
  return {
    folder,
    gatewayNamespace,
    get resources() { return provider.resources; },
    get origins() { return provider.origins; },
    get files() { return provider.files; },
    get diagnostics() { return provider.diagnostics; },
    async refresh() {
      await provider.refresh();
      await parts.settled();
    },
    statusOf: (object) => tracker.get(statusId(object))?.status,
    readSpending: freshSpending(parts),
    secretOf: (id) => provider.resources.secrets.get(id) ?? minted.secrets.get(id),
    async discardSecret(id) {
      await minted.discard(id);
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
    reading ??= updateSpending().then(() => { readMs = clock.nowMs(); }).finally(() => { reading = undefined; });
    if (first) await reading;
    else await Promise.race([reading, new Promise<void>((resolve) => { clock.after(MOST_WAIT_MS, resolve); })]);
  };
}
