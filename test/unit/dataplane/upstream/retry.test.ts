import assert from 'node:assert/strict';
import { test } from 'vitest';
import { classify, mayRetry, readRetryAfter, RETRYABLE } from '../../../../dataplane/upstream/retry.ts';
import type { Verdict } from '../../../../dataplane/upstream/retry.ts';
import type { UpstreamFailureKind } from '../../../../dataplane/upstream/upstream.ts';

test('classifies each status', () => {
  const expected: Record<Verdict, number[]> = {
    ok: [200, 201, 204, 206],
    refused: [400, 409, 413, 415, 418, 422, 424, 451],
    credential: [401, 402, 403, 407],
    misnamed: [301, 302, 304, 307, 308, 404, 405],
    rate_limited: [429],
    overloaded: [529],
    unavailable: [408, 500, 501, 502, 503, 504, 520, 524, 599],
    timeout: [],
    cut: [],
    aborted: [],
  };
  for (const [verdict, statuses] of Object.entries(expected))
    for (const status of statuses) assert.equal(classify({ status }), verdict, String(status));
});

test('tries another channel only if nothing was produced, or the provider said so', () => {
  const failures: readonly (readonly [UpstreamFailureKind, boolean])[] = [
    ['Connect', true],
    ['Reset', true],
    ['Timeout', false],
    ['Cut', false],
    ['Idle', false],
    ['Aborted', false],
  ];
  for (const [failure, retry] of failures) assert.equal(mayRetry(classify({ failure }), RETRYABLE), retry, failure);
  for (const status of [401, 402, 403, 408, 429, 500, 502, 503, 504, 529])
    assert.equal(mayRetry(classify({ status }), RETRYABLE), true, String(status));
  for (const status of [200, 302, 400, 404, 413, 422])
    assert.equal(mayRetry(classify({ status }), RETRYABLE), false, String(status));
  assert.equal(mayRetry('credential', new Set(['unavailable'])), false, 'the route does not want it');
});

test('parses retry-after as seconds, milliseconds or a date; bounded; invalid is nothing', () => {
  const now = Date.parse('2026-11-01T00:00:00Z');
  const cases: [Record<string, string>, number | undefined][] = [
    [{}, undefined],
    [{ 'retry-after': '7' }, 7],
    [{ 'retry-after': '0.2' }, 1],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 2],
    [{ 'retry-after': 'Sun, 01 Nov 2026 00:00:30 GMT' }, 30],
    [{ 'retry-after': 'Sun, 01 Nov 2020 00:00:30 GMT' }, 0],
    [{ 'retry-after': '999999' }, 3600],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': '' }, undefined],
  ];
  for (const [headers, seconds] of cases) assert.equal(readRetryAfter(headers, now), seconds, JSON.stringify(headers));
});
