/** A list that changes under somebody's hand: what is looked at keeps its place until the hand is gone. */
import { computed, ref, shallowRef, watch, type ComputedRef, type Ref, type ShallowRef } from "vue";

export interface Holding<T> {
  rows: ComputedRef<T[]>;
  /** How many have come that are not shown. */
  fresh: ComputedRef<number>;
  isHeld: Ref<boolean>;
  release: () => void;
}

const OPEN_MILLISECONDS = 3000;

/** While it is held each row shows what is newest of it, no row comes and none goes; what left keeps its last word. */
export function holding<T extends { id: string }>(latest: ComputedRef<T[]>, page: () => string): Holding<T> {
  const shown: ShallowRef<T[]> = shallowRef([]);
  const isHeld = ref(false);
  let isOther = true;
  let openUntil = 0;

  function show(): void {
    shown.value = latest.value;
    isOther = false;
  }

  /** What somebody did here shows at once, and so does what comes of it in a moment. */
  function release(): void {
    openUntil = Date.now() + OPEN_MILLISECONDS;
    show();
  }

  watch(
    latest,
    (found) => {
      if (!isHeld.value || isOther || shown.value.length === 0 || Date.now() < openUntil) return show();
      const known = new Map(found.map((each) => [each.id, each]));
      shown.value = shown.value.map((each) => known.get(each.id) ?? each);
    },
    { immediate: true },
  );
  // another page, or other filters, are another list
  watch(page, () => (isOther = true), { flush: "sync" });
  watch(isHeld, (held) => held || show());
  const fresh = computed(() => {
    const known = new Set(shown.value.map((each) => each.id));
    return latest.value.filter((each) => !known.has(each.id)).length;
  });
  return { rows: computed(() => shown.value), fresh, isHeld, release };
}
