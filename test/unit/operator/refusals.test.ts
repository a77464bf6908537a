/** What a ModelRoute's status says of providers that refuse what it gives them. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { freshRefusals, refusalCondition, REFUSAL_LASTS_MS } from '../../../operator/status/refusals.ts';

describe('a provider that refuses', () => {
  it('the credential is told apart from one that refuses the model or the address', () => {
    assert.equal(refusalCondition([{ channel: 'a', status: 401, atMs: 1 }])?.reason, 'CredentialRefused');
    assert.equal(refusalCondition([{ channel: 'a', status: 404, atMs: 1 }])?.reason, 'ModelRefused');
    assert.equal(refusalCondition([]), undefined);
  });
  it('on several channels is told with all of them', () => {
    const { message = '' } =
      refusalCondition([{ channel: 'b', status: 403, atMs: 2 }, { channel: 'a', status: 401, atMs: 1 }]) ?? {};
    assert.match(message, /^Channel "a".*Likewise: "b" \(403\)/);
  });
  it('counts once for each channel, and not for ever', () => {
    const refusals = [{
      channel: 'a', status: 401, atMs: 0,
    }, { channel: 'a', status: 404, atMs: 5 }, { channel: 'b', status: 401, atMs: 1 }];
    assert.deepEqual(freshRefusals(refusals, 10).map(({ channel, status }) =>
      [channel, status]), [['a', 404], ['b', 401]]);
    assert.deepEqual(freshRefusals(refusals, REFUSAL_LASTS_MS + 1).map(({ channel }) => channel), ['a']);
  });
});
