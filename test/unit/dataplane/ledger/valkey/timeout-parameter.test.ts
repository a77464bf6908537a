/** The ledger's URL sets how long a call waits for the server. */
import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { LedgerUnavailable } from '#ledger/ledger.ts';
import { openValkeyLedger } from '#ledger/valkey.ts';
import { startValkey, valkey } from '../../../../support/valkey.ts';
import { holdRequest } from '../calls.ts';
import { HELD } from '../contract-scenario.ts';

const PAUSE_MS = '500';

describe.skipIf(valkey.skip)('the parameter timeout-ms', () => {
  let server: Awaited<ReturnType<typeof startValkey>>;
  beforeAll(async () => {
    server = await startValkey();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('makes a call wait for a paused server, or refuses it earlier', async () => {
    const open = (query: string): ReturnType<typeof openValkeyLedger> =>
      openValkeyLedger({ url: `${server.url}?${query}`, over: { refillMs: 0 } });
    const [hasty, patient] = [await open('prefix=hasty&timeout-ms=50'), await open('prefix=patient&timeout-ms=2000')];
    await server.command('CLIENT', 'PAUSE', PAUSE_MS, 'WRITE');
    await Promise.all([
      assert.rejects(hasty.hold(holdRequest('a', 10n)), LedgerUnavailable),
      patient.hold(holdRequest('a', 10n)).then((result) => assert.deepEqual(result, HELD(10n))),
    ]);
    await Promise.all([hasty.close(), patient.close()]);
  });
});
