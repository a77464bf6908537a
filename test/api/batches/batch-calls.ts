/** Calls about OpenAI's files and batches, as a client without an SDK makes them. */
import { post } from '../../support/api/test-stack.ts';
import type { Answer, Json, TestStack } from '../../support/api/test-stack.ts';
import { KEYS } from '../../support/manifests.ts';

export const LIMIT = 100;

/** A line that asks batch-model something. */
export function line(id: string, more: object = {}, url = '/v1/chat/completions'): string {
  const body = { model: 'batch-model', messages: [{ role: 'user', content: 'hello' }], max_tokens: LIMIT, ...more };
  return JSON.stringify({ custom_id: id, method: 'POST', url, body });
}

export function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

interface Upload {
  readonly key?: string;
  readonly purpose?: string;
}

export interface BatchCalls {
  readonly upload: (content: string, as?: Upload) => Promise<Answer>;
  readonly call: (method: string, path: string, key?: string) => Promise<{ status: number; body: Json }>;
  readonly create: (fileId: string, key?: string, more?: object) => Promise<Answer>;
}

/** Calls to the gateway of a stack, which is known once it has started. */
export function batchCalls(stack: () => TestStack): BatchCalls {
  return {
    async upload(content, { key = KEYS.main, purpose = 'batch' } = {}) {
      const form = new FormData();
      form.set('purpose', purpose);
      form.set('file', new Blob([content]), 'requests.jsonl');
      const url = `${stack().gateway.url}/v1/files`;
      const response = await fetch(url, { method: 'POST', headers: bearer(key), body: form });
      const text = await response.text();
      return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
    },
    async call(method, path, key = KEYS.main) {
      const response = await fetch(stack().gateway.url + path, { method, headers: bearer(key) });
      return { status: response.status, body: await response.json() };
    },
    create(fileId, key = KEYS.main, more = {}) {
      const body = { input_file_id: fileId, endpoint: '/v1/chat/completions', completion_window: '24h', ...more };
      return post(stack(), '/v1/batches', body, bearer(key));
    },
  };
}
