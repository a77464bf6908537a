import assert from 'node:assert/strict';
import { test } from 'vitest';
import { joinPath, parseBaseUrl } from '../../../../dataplane/upstream/address.ts';

const CASES: readonly (readonly [baseUrl: string, path: string, url: string])[] = [
  ['https://api.openai.com/v1', '/chat/completions', 'https://api.openai.com/v1/chat/completions'],
  ['https://api.openai.com/v1/', '/chat/completions', 'https://api.openai.com/v1/chat/completions'],
  ['https://api.anthropic.com', '/v1/messages', 'https://api.anthropic.com/v1/messages'],
  ['https://api.anthropic.com/', '/v1/messages?beta=true', 'https://api.anthropic.com/v1/messages?beta=true'],
  ['http://localhost:8000/proxy/openai/v1//', '/embeddings', 'http://localhost:8000/proxy/openai/v1/embeddings'],
  [
    'https://host/deployments/m?api-version=2025-01-01',
    '/chat/completions',
    'https://host/deployments/m/chat/completions?api-version=2025-01-01',
  ],
  ['https://host/v1?a=1', '/videos?limit=2', 'https://host/v1/videos?limit=2&a=1'],
  ['http://[::1]:8080/v1', '/models', 'http://[::1]:8080/v1/models'],
];

test('paths join their base, with prefixes, slashes and queries', () => {
  for (const [baseUrl, path, url] of CASES) {
    const base = parseBaseUrl(baseUrl);
    assert.equal(base.origin + joinPath(base, path), url);
  }
});

test('anything but an http URL is refused', () => {
  for (const baseUrl of ['', 'api.openai.com', 'ftp://host', '/v1'])
    assert.throws(() => parseBaseUrl(baseUrl), TypeError, baseUrl);
});
