/** The contract of every ledger, on a real server, and the guarantees of a shared one. */
import { afterAll, it } from 'vitest';
import { startValkey, valkey } from '../../../support/valkey.ts';
import { ledgerContract } from './contract.ts';
import { openSubject } from './valkey/subject.ts';

if (valkey.skip) {
  it.skip('the ledger on Valkey');
} else {
  const server = await startValkey();
  afterAll(() => server[Symbol.asyncDispose]());
  ledgerContract('on Valkey', (clock) => openSubject(server, clock));
}
