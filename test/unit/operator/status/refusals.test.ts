/** A ModelRoute's status about providers that refuse the credential, the model or the address. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import {
  freshRefusals,
  refusalConditions,
  refusedCredential,
  REFUSAL_LASTS_MS,
} from '../../../../operator/status/refusals.ts';

function reasonsOf(refusals: Parameters<typeof refusalConditions>[0]): readonly string[] {
  return refusalConditions(refusals).map(({ reason }) => reason);
}

describe('a provider that cannot be reached', () => {
  for (const [connectError, reason, advice] of [
    ['ENOTFOUND', 'HostNotFound', /the host does not exist in DNS/],
    ['ECONNREFUSED', 'ConnectionRefused', /nothing listens/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'TlsFailed', /certificate/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'TlsFailed', /certificate/],
    ['UND_ERR_CONNECT_TIMEOUT', 'ConnectTimedOut', /timed out/],
    ['EHOSTUNREACH', 'ConnectFailed', /network policies/],
    ['PROXY_407', 'ForwardProxyFailed', /requires a credential.*HTTPS_PROXY/],
    ['PROXY_403', 'ForwardProxyFailed', /forward proxy responds with 403/],
    ['PROXY_ECONNREFUSED', 'ForwardProxyFailed', /forward proxy cannot be reached/],
  ] as const) {
    it(`is reported with the reason of ${connectError}`, () => {
      const [condition] = refusalConditions([{ channel: 'a', status: 0, connectError, atMs: 1 }]);
      assert.equal(condition?.type, 'UpstreamUnreachable');
      assert.equal(condition.reason, reason);
      assert.match(condition.message, new RegExp(`^Channel "a".*${connectError}`));
      assert.match(condition.message, advice);
    });
  }
  it('is reported beside one that refuses the credential', () => {
    assert.deepEqual(
      reasonsOf([
        { channel: 'a', status: 0, connectError: 'ENOTFOUND', atMs: 1 },
        { channel: 'b', status: 401, atMs: 1 },
      ]),
      ['CredentialRefused', 'HostNotFound'],
    );
  });
});

describe('a channel that accepts its credential again', () => {
  it('has no refusals any more, and others keep theirs', () => {
    const refused = [
      { channel: 'a', status: 401, atMs: 1 },
      { channel: 'b', status: 402, atMs: 1 },
    ];
    assert.equal(refusedCredential(refused)?.reason, 'CredentialRefused');
    const left = freshRefusals([...refused, { channel: 'a', status: 0, recovered: true, atMs: 2 }], 3);
    assert.deepEqual(
      left.map(({ channel }) => channel),
      ['b'],
    );
    assert.match(refusedCredential(left)?.message ?? '', /^Channel "b".*402/);
    assert.equal(refusedCredential([{ channel: 'a', status: 404, atMs: 1 }]), undefined, 'a name, not a credential');
  });
});

describe('a channel without a token', () => {
  it('is reported with the reason of the code', () => {
    for (const [code, reason] of [
      ['invalid_client', 'TokenRefused'],
      ['AccessDenied', 'TokenRefused'],
      ['HTTP_404', 'TokenRefused'],
      ['ENOTFOUND', 'TokenUnavailable'],
      ['TIMEOUT', 'TokenUnavailable'],
      ['NO_IDENTITY', 'IdentityMissing'],
    ] as const) {
      const [condition] = refusalConditions(
        [{ channel: 'a', status: 0, connectError: `SIGN_IN:${code}`, atMs: 1 }],
        true,
      );
      assert.deepEqual([condition?.type, condition?.reason], ['CredentialReady', reason]);
      assert.ok(condition?.message.startsWith(`Channel "a" has no token for its cloud (${code})`));
    }
  });
});

describe('a route', () => {
  it('that signs in reports it while nothing fails; another one reports nothing', () => {
    const [condition] = refusalConditions([], true);
    assert.deepEqual([condition?.type, condition?.status], ['CredentialReady', 'True']);
    assert.deepEqual(refusalConditions([], false), []);
  });
});

describe('a provider that refuses', () => {
  it('the credential differs in status from one that refuses the model or the address', () => {
    assert.deepEqual(reasonsOf([{ channel: 'a', status: 401, atMs: 1 }]), ['CredentialRefused']);
    assert.deepEqual(reasonsOf([{ channel: 'a', status: 404, atMs: 1 }]), ['ModelRefused']);
    for (const status of [301, 304, 307, 308]) {
      assert.deepEqual(reasonsOf([{ channel: 'a', status, atMs: 1 }]), ['Redirected']);
      const [{ message } = { message: '' }] = refusalConditions([{ channel: 'a', status, atMs: 1 }]);
      assert.match(message, new RegExp(`^Channel "a": the provider responds with a redirect \\(${status}\\)`));
    }
    assert.deepEqual(refusalConditions([]), []);
  });
  it('on several channels is reported with all of them', () => {
    const [{ message } = { message: '' }] = refusalConditions([
      { channel: 'b', status: 403, atMs: 2 },
      { channel: 'a', status: 401, atMs: 1 },
    ]);
    assert.match(message, /^Channel "a".*Likewise: "b" \(403\)/);
  });
  it('is counted once for each channel, for a limited time', () => {
    const refusals = [
      {
        channel: 'a',
        status: 401,
        atMs: 0,
      },
      { channel: 'a', status: 404, atMs: 5 },
      { channel: 'b', status: 401, atMs: 1 },
    ];
    assert.deepEqual(
      freshRefusals(refusals, 10).map(({ channel, status }) => [channel, status]),
      [
        ['a', 404],
        ['b', 401],
      ],
    );
    assert.deepEqual(
      freshRefusals(refusals, REFUSAL_LASTS_MS + 1).map(({ channel }) => channel),
      ['a'],
    );
  });
});

describe('a provider that reports implausible usage', () => {
  it('has a condition of its own beside a refusal of the same channel', () => {
    const refusals = freshRefusals(
      [
        { channel: 'a', status: 401, atMs: 1 },
        { channel: 'a', status: 200, atMs: 2 },
        { channel: 'b', status: 200, atMs: 2 },
      ],
      3,
    );
    const conditions = refusalConditions(refusals).map(({ type, status, reason }) => [type, status, reason]);
    assert.deepEqual(conditions, [
      ['UpstreamRefused', 'True', 'CredentialRefused'],
      ['UsageImplausible', 'True', 'BeyondTheRequest'],
    ]);
    assert.match(refusalConditions(refusals)[1]?.message ?? '', /^Channel "a": .*"b"/);
    assert.deepEqual(freshRefusals(refusals, 2 + REFUSAL_LASTS_MS), []);
  });
});
