/** Compares with a golden file, or writes it if GOLDEN=write. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

export function assertGolden(path: string, actual: string): void {
  if (process.env['GOLDEN'] === 'write') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, actual);
    return;
  }
  assert.ok(existsSync(path), `${path} is missing: run npm run golden`);
  assert.equal(actual, readFileSync(path, 'utf8'));
}

export function pretty(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Formats JSON on several lines without other changes; adds a line end to any other text. */
export function indent(text: string): string {
  if (!text.startsWith('{')) return `${text}\n`;
  let depth = 0;
  const line = (): string => `\n${'  '.repeat(depth)}`;
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^"{}[\],:]+/g) ?? [];
  return `${tokens
    .map((token, index) => {
      const [before, after] = [tokens[index - 1], tokens[index + 1]];
      if (token === '{' || token === '[') return (++depth, after === '}' || after === ']' ? token : token + line());
      if (token === '}' || token === ']') return (--depth, before === '{' || before === '[' ? token : line() + token);
      return token === ',' ? token + line() : token === ':' ? ': ' : token;
    })
    .join('')}\n`;
}
