"""K-means of scikit-learn-intelex on shared memory: the points are never copied for the fit.

Host code writes the points, and oneDAL finds the clusters on the device of the array's queue. Both use the same memory.

Needs a SYCL device and scikit-learn-intelex:

    pip install "$wheel[sycl-cpu]" scikit-learn-intelex scikit-learn-intelex-gpu
    python examples/kmeans.py
"""

import dpctl  # noqa: F401 (scikit-learn-intelex takes queues of dpctl)
import numpy as np
from sklearnex.cluster import KMeans

import usm
import usm.tensor as ut

CENTRES = np.array([[0, 0], [6, 0], [3, 5]], "float32")
PER_CLUSTER = 500


def main():
    queue = next(usm.SyclQueue(device) for device in usm.get_devices() if device.backend not in ("host", "cuda"))

    # Shared memory: `numpy.asarray` gives NumPy the same bytes.
    points = ut.empty((3 * PER_CLUSTER, 2), dtype="float32", usm_type="shared", sycl_queue=queue)
    on_host = np.asarray(points)
    noise = np.random.default_rng(1).normal(scale=0.4, size=on_host.shape)
    on_host[...] = np.repeat(CENTRES, PER_CLUSTER, axis=0) + noise
    print("one address:", on_host.__array_interface__["data"][0] == points.__sycl_usm_array_interface__["data"][0])

    # The estimator reads the points through `__sycl_usm_array_interface__`.
    model = KMeans(n_clusters=3, n_init=5, random_state=0).fit(points)
    centres = np.asarray(model.cluster_centers_)
    labels = np.asarray(model.labels_)
    for x, y, label in sorted((round(x), round(y), label) for label, (x, y) in enumerate(centres)):
        print(f"cluster near ({x}, {y}) with {np.sum(labels == label)} points")

    # A view of the same memory: every tenth point, from the last one on.
    few = points[::-10]
    print("view of", few.shape[0], "points with strides", few.strides)
    found = np.asarray(model.predict(few))
    print("the view has the labels of its points:", np.array_equal(found, labels[::-10]))


if __name__ == "__main__":
    main()
