/** Links in Markdown files: relative ones name files that exist, and anchors name headings of the page. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const PAGES = globSync(['*.md', 'docs/**/*.md', 'charts/**/*.md'], { cwd: ROOT }).sort();

describe('links in Markdown files', () => {
  for (const page of PAGES) it(`point to existing places: ${page}`, () => assert.deepEqual(brokenLinks(page), []));

  it('are checked: a missing file and a missing anchor are found', () => {
    const links = ['docs/nowhere.md', '#nowhere', 'LICENSE', 'CONTRIBUTING.md#programs'];
    assert.deepEqual(
      links.filter((link) => !resolves('README.md', link)),
      links.slice(0, 2),
    );
  });
});

/** Returns the broken links of a page. Links to other sites are not followed. */
function brokenLinks(page: string): readonly string[] {
  const text = withoutCode(readFileSync(join(ROOT, page), 'utf8'));
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => !/^[a-z]+:/.test(link) && !resolves(page, link));
}

function resolves(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(target).has(anchor);
}

/** The anchors of a page's headings, as GitHub generates them. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = withoutCode(readFileSync(join(ROOT, page), 'utf8')).matchAll(/^#{1,6} (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

/** Lines that begin with # within a block of code are comments, and no headings. */
function withoutCode(text: string): string {
  return text.replaceAll(/^( *)```[^]*?^\1```$/gm, '');
}
