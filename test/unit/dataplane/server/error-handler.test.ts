/** What is a defect of the gateway, and what is not. */
import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ClientDisconnected } from '../../../../dataplane/pipeline/failures.ts';
import type { ServerDeps } from '../../../../dataplane/server/deps.ts';
import { toGatewayError } from '../../../../dataplane/server/error-handler.ts';

function defectsOf(error: unknown): { readonly code: string; readonly defects: readonly string[] } {
  const defects: string[] = [];
  const deps = { defect: (requestId: string) => defects.push(requestId) } as unknown as ServerDeps;
  return { code: toGatewayError(deps, 'req_1', error).code, defects };
}

test('a client that leaves while a provider is asked for it is no defect', () => {
  assert.deepEqual(defectsOf(new ClientDisconnected()), { code: 'request_timeout', defects: [] });
  assert.deepEqual(defectsOf(new TypeError('x')), { code: 'internal_error', defects: ['req_1'] });
});
