/** Runs work for the numbers from 0 to `count` - 1, with limited concurrency. Rejects with the first error. */
export async function inParallel(count: number, atOnce: number, work: (n: number) => Promise<unknown>): Promise<void> {
  const numbers = Array.from({ length: count }, (_, n) => n).values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const n of numbers) await work(n);
    }),
  );
}
