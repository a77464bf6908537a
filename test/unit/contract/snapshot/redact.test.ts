import assert from 'node:assert/strict';
import { test } from 'vitest';
import { redactSnapshot } from '#snapshot/redact.ts';
import { channelOf, completeSnapshot, routeOf, snapshotOf } from './objects.ts';

test('a redacted snapshot is JSON with everything but secrets, and exact numbers', () => {
  const text = JSON.stringify(redactSnapshot(completeSnapshot()));
  assert.doesNotMatch(text, /secret-of/);
  assert.match(text, /"apiKey":"\[redacted\]"/);
  assert.match(text, /"limitNanoUsd":"25000000000"/);
  assert.match(text, /"baseUrl":"https:\/\/direct\.example\/v1"/);
  assert.match(text, /"upstreamName":"m-2026"/);
});

test("a channel without a credential is marked; a base URL's query is not shown", () => {
  const channels = [channelOf('c', { apiKey: undefined, baseUrl: 'https://host/v1?key=hidden' })];
  const text = JSON.stringify(redactSnapshot(snapshotOf({ routes: [routeOf('r', [], channels)] })));
  assert.doesNotMatch(text, /hidden|apiKey/);
  assert.match(text, /https:\/\/host\/v1\?\[redacted\]/);
});
