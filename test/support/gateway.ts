/**
 * A whole gateway in this process: operator from a folder of manifests, embedded ledger, data plane on a free port; all
 * but the command line.
 */
import assert from 'node:assert/strict';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import type { ActivityWriter } from '#activity/activity.ts';
import { startDataplane } from '../../programs/dataplane.ts';
import type { Timers } from '../../dataplane/clock.ts';
import type { Dataplane } from '../../programs/dataplane.ts';
import type { TlsMaterial } from '../../dataplane/server/tls-listener.ts';
import { openFileStore } from '../../dataplane/kept/file-store.ts';
import type { KeptStore } from '../../dataplane/kept/store.ts';
import { openEmbeddedLedger } from '../../dataplane/ledger/embedded.ts';
import type { ConversationLimits, Ledger } from '../../dataplane/ledger/ledger.ts';
import { startOperator } from '../../programs/one-machine/operator.ts';
import type { Operator } from '../../programs/one-machine/operator.ts';

export interface TestGateway {
  readonly url: string;
  readonly adminUrl: string;
  readonly ledger: Ledger;
  readonly operator: Operator;
  readonly dataplane: Dataplane;
  readonly configDir: string;
  readonly dataDir: string;
  /** Every log line so far. */
  readonly logs: readonly string[];
  /**
   * Replaces a manifest file; resolves when the operator has noticed it and the edit is in force. Rejects if the edit
   * has mistakes.
   */
  write(file: string, yaml: string): Promise<void>;
  stop(): Promise<void>;
}

export interface GatewayOptions {
  /** File name → YAML. */
  readonly files: Readonly<Record<string, string>>;
  readonly maxBodyBytes?: number;
  readonly corsOrigins?: readonly string[];
  readonly maxBufferedBytes?: number;
  readonly maxRunningJobs?: number;
  readonly conversationLimits?: ConversationLimits;
  readonly pingAfterMs?: number;
  /** Responses are kept for so many days, in this store or in a file. */
  readonly keeping?: { readonly days: number; readonly store?: KeptStore; readonly maxBytes?: number };
  readonly consoleUrl?: () => string | undefined;
  readonly activity?: ActivityWriter | undefined;
  readonly nowMs?: () => number;
  readonly monotonicMs?: () => number;
  readonly timers?: Partial<Timers>;
  /** The environment variables by which clouds give a pod its identity. */
  readonly env?: Readonly<Record<string, string>>;
  /** Also serves TLS. */
  readonly tls?: TlsMaterial;
  /** Faults of the ledger's file: see embedded-faults.ts. */
  readonly faults?: Int32Array;
}

const POLL_MS = 2;
const WRITE_TIMEOUT_MS = 60_000;
/** A disk may be busy for seconds without a failure. */
const LEDGER_TIMEOUT_MS = 60_000;

/** Starts it with the given manifests in force. */
export async function startGateway(options: GatewayOptions): Promise<TestGateway> {
  const {
    files,
    maxBodyBytes = 64 * 1024 * 1024,
    nowMs = Date.now,
    monotonicMs = () => performance.now(),
    timers = {},
    faults,
    maxBufferedBytes,
    maxRunningJobs,
    conversationLimits,
    pingAfterMs,
    keeping,
    corsOrigins = [],
    tls,
    consoleUrl,
    activity,
  } = options;
  const root = await mkdtemp(join(tmpdir(), 'mgw-test-'));
  const configDir = join(root, 'config');
  const dataDir = join(root, 'data');
  await mkdir(configDir);
  await mkdir(dataDir);
  for (const [file, yaml] of Object.entries(files)) await writeFile(join(configDir, file), yaml);
  const logs: string[] = [];
  const log = pino(
    { level: 'debug' },
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        logs.push(chunk.toString());
        done();
      },
    }),
  );
  const ledger = await openEmbeddedLedger({
    path: join(dataDir, 'ledger.db'),
    sync: 'normal',
    clock: nowMs,
    onFault: (error: unknown) => log.error({ err: error }, 'ledger'),
    ...(faults ? { faults } : { timeoutMs: LEDGER_TIMEOUT_MS }),
  });
  let refused: Operator['upstreamRefused'] = () => undefined;
  const dataplane = await startDataplane({
    onRouteWarning: (warning) => refused(warning),
    listen: { host: '127.0.0.1', port: 0 },
    admin: { host: '127.0.0.1', port: 0 },
    ledger,
    log,
    maxBodyBytes,
    corsOrigins,
    version: 'test',
    ...(maxBufferedBytes === undefined ? {} : { maxBufferedBytes }),
    ...(maxRunningJobs === undefined ? {} : { maxRunningJobs }),
    ...(conversationLimits && { conversationLimits }),
    ...(pingAfterMs === undefined ? {} : { pingAfterMs }),
    ...(keeping && {
      keeping: { store: openFileStore(join(dataDir, 'responses.db')), maxBytes: 64 * 2 ** 20, ...keeping },
    }),
    ...(consoleUrl ? { consoleUrl } : {}),
    activity,
    ...(options.env && { env: options.env }),
    clock: { nowMs, monotonicMs },
    timers,
    ...(tls ? { tls: { listen: { host: '127.0.0.1', port: 0 }, material: tls } } : {}),
  });
  const stop = async (): Promise<void> => {
    await dataplane.drain();
    await ledger.close();
    await rm(root, { recursive: true, force: true });
  };
  const operator = await startOperator({
    configDir,
    dataDir,
    gatewayNamespace: 'model-gateway',
    ledger,
    log,
    onMinted: () => undefined,
    onProblems: (problems) => log.warn({ problems }, 'problems'),
    publish: (snapshot) => dataplane.apply(snapshot),
  }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  refused = (refusal) => operator.upstreamRefused(refusal);
  return {
    url: `http://127.0.0.1:${dataplane.port}`,
    adminUrl: `http://127.0.0.1:${dataplane.adminPort}`,
    ledger,
    operator,
    dataplane,
    configDir,
    dataDir,
    logs,
    async write(file, yaml) {
      const path = join(configDir, file);
      const givenUpMs = performance.now() + WRITE_TIMEOUT_MS;
      await writeFile(path, yaml);
      while (operator.manifests.files.get(path)?.text !== yaml) {
        assert.ok(performance.now() < givenUpMs, `not taken: ${JSON.stringify(operator.manifests.diagnostics)}`);
        await setTimeout(POLL_MS);
      }
      await operator.manifests.refresh();
    },
    async stop() {
      await operator.stop();
      await stop();
    },
  };
}
