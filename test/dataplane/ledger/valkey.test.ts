/** The contract of every ledger, on a real server; and what only a shared one promises. */
import { after, describe } from 'node:test';
import { startValkey, valkey } from '../../support/valkey.ts';
import { ledgerContract } from './contract.ts';
import { openSubject } from './valkey-subject.ts';

if (valkey.skip) {
  describe('the ledger on Valkey', { skip: valkey.skip }, () => undefined);
} else {
  const server = await startValkey();
  after(() => server[Symbol.asyncDispose]());
  ledgerContract('on Valkey', (clock) => openSubject(server, clock));
}
