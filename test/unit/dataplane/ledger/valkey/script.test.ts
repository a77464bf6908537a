/** The script's text: Lua says nothing of a function that replaces another one of its name. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';

const SOURCE = readFileSync(new URL('../../../../../dataplane/ledger/valkey/ledger.lua', import.meta.url), 'utf8');

test('defines each operation once', () => {
  const names = [...SOURCE.matchAll(/^function operation\.(\w+)/gm)].map(([, name]) => name);
  assert.ok(names.length > 10, String(names.length));
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  );
});

test('defines each local function once', () => {
  const names = [...SOURCE.matchAll(/^local function (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  );
});
