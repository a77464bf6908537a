import assert from 'node:assert/strict';
import { test } from 'vitest';
import { newRequestId } from '../../../../dataplane/server/request-id.ts';

test('request ids are random and unique', () => {
  const ids = Array.from({ length: 2000 }, newRequestId);
  for (const id of ids) assert.match(id, /^req_[0-9a-f]{32}$/);
  assert.equal(new Set(ids).size, ids.length);
  // of 2000 random ones every place takes every digit
  for (let place = 4; place < 36; place++) assert.equal(new Set(ids.map((id) => id[place])).size, 16, String(place));
});
