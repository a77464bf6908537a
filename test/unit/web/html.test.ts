/** Text in markup: escaped, with its line breaks, and without what HTML forbids. */
import assert from 'node:assert/strict';
import { describe, it } from 'vitest';
import { html } from '#web/html.ts';

describe('text in markup', () => {
  it('keeps line breaks and tabs', () => {
    assert.equal(
      html`<p>${'Budget for Q4:\n- search\r\n\t- ads'}</p>`.markup,
      '<p>Budget for Q4:\n- search\r\n\t- ads</p>',
    );
  });

  it('shows other control characters and lone surrogates as the replacement character', () => {
    for (const character of ['\0', '\v', '\f', '\x1b', '\x7f', '\x85', '\u202e', '\u2066', '\ud800'])
      assert.equal(html`${`a${character}b`}`.markup, 'a\uFFFDb', JSON.stringify(character));
  });

  it('is escaped', () => {
    assert.equal(html`${'<a href="x">&\''}`.markup, '&lt;a href=&quot;x&quot;&gt;&amp;&#39;');
  });
});
