/** Why somebody may not change something: the reason is theirs. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { renderMissingRight, rightsOf } from '../../../../console/components/missing-right.ts';

describe('the reason why somebody may not change a key', () => {
  const holder = { ownKey: { namespace: 'team-a', name: 'ci' } };

  it('is, for its holder, that they signed in with it, and never a folder that can be written to', () => {
    const { markup } = renderMissingRight(rightsOf('Files', holder), 'patch', { namespace: 'team-a' });
    assert.match(markup, /signed in with this key[\s\S]*admin token/);
    assert.doesNotMatch(markup, /folder/);
    assert.match(renderMissingRight(rightsOf('Kubernetes', holder), 'patch').markup, /token of the cluster/);
  });
  it('is the folder on one machine, and the right in a cluster', () => {
    assert.match(renderMissingRight(rightsOf('Files', {}), 'create').markup, /folder of manifests cannot be written/);
    const right = renderMissingRight(rightsOf('Kubernetes', {}), 'create', { kind: 'accounts', namespace: 'team-a' });
    assert.match(right.markup, /<code>create<\/code> <code>accounts\.modelgateway\.dev<\/code> in[\s\S]*team-a/);
  });
});
