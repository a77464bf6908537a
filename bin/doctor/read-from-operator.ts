/** Takes the routes from an operator, as a proxy does, without being counted as one. */
import { hostname } from 'node:os';
import { pino } from 'pino';
import { startXdsClient } from '../../dataplane/xds/client.ts';
import type { XdsClientOptions } from '../../dataplane/xds/client.ts';
import type { Snapshot } from '#snapshot/snapshot.gen.ts';
import { CommandFailed } from '../exit-codes.ts';
import { VERSION } from '../version.ts';

const TIMEOUT_MS = 15_000;

/** Rejects with CommandFailed if no operator gives the whole configuration in time. */
export async function readFromOperator(from: Pick<XdsClientOptions, 'addresses' | 'secure'>): Promise<Snapshot> {
  const { promise, resolve, reject } = Promise.withResolvers<Snapshot>();
  const timer = setTimeout(
    () =>
      reject(
        new CommandFailed(
          `--xds ${from.addresses.join(',')}: no configuration from an operator within ${TIMEOUT_MS / 1000} s.`,
        ),
      ),
    TIMEOUT_MS,
  );
  const client = await startXdsClient({
    ...from,
    nodeId: hostname(),
    version: VERSION,
    observer: true,
    log: pino({ level: 'silent' }),
    install: ({ snapshot }) => resolve(snapshot()),
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    await client.stop();
  }
}
