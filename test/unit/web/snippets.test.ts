/** Example calls that work as they are copied. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { snippetsOf } from '../../../web/snippets.ts';

const OF_VIDEOS = { url: 'https://gateway.example', model: 'sora-2', endpoint: 'Videos' } as const;

describe('the examples of a model that makes videos', () => {
  it('say how many seconds where it is priced by them, and only there', () => {
    for (const { code, id } of snippetsOf({ ...OF_VIDEOS, bySecond: true }))
      assert.match(code, /seconds"?[:=] ?"4"/, id);
    for (const { code, id } of snippetsOf(OF_VIDEOS)) assert.doesNotMatch(code, /seconds["=:]/, id);
  });
  it('have a body of JSON', () => {
    const [curl] = snippetsOf({ ...OF_VIDEOS, bySecond: true });
    const body = /-d '([^']*)'/.exec(curl?.code ?? '')?.[1] ?? '';
    assert.deepEqual(JSON.parse(body), { model: 'sora-2', prompt: 'A lighthouse at dawn', seconds: '4' });
  });
});
